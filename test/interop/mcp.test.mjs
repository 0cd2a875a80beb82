import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { FOLDER } from './support/files.mjs';
import { run } from './support/program.mjs';
import { createKey, url } from './support/service.mjs';

const SUITE = join(FOLDER, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');

/** The others need a test server with tools of their own, or resources, prompts, logging, sampling, which a store lacks. */
const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
];

suite('the conformance suite of the Model Context Protocol', () => {
  let proxy;
  before(async () => {
    proxy = await startKeyProxy(await createKey('mcp'));
  });

  for (const scenario of SCENARIOS) {
    test(scenario, async () => {
      // The newer Node of this package: the suite needs it.
      const output = await run('node', SUITE, 'server', '--url', `${proxy.url}/mcp`, '--scenario', scenario);
      assert.match(output, /Passed: (\d+)\/\1, 0 failed/);
    });
  }
});

/** The suite sends no key. This proxy adds one, and leaves all else as it is. */
async function startKeyProxy(key) {
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const options = { method, headers: { ...headers, authorization: `Bearer ${key}` } };
    const forwarded = request(`${url}${path}`, options, (response) => {
      outgoing.writeHead(response.statusCode, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}` };
}
