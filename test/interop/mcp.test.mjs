import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { FOLDER } from './support/files.mjs';
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

/** The suite needs Node.js 22. */
const node = newEnoughNode();

function newEnoughNode() {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const { platform, arch } = process;
  return join(FOLDER, 'node_modules', `node-${platform}-${arch}`, 'bin', 'node');
}

suite('the conformance suite of the Model Context Protocol', () => {
  let proxy;
  before(async () => {
    proxy = await startKeyProxy(await createKey('mcp'));
  });

  for (const scenario of SCENARIOS) {
    test(scenario, async () => {
      const args = [SUITE, 'server', '--url', `${proxy.url}/mcp`, '--scenario', scenario];
      const { stdout } = await promisify(execFile)(node, args);
      assert.match(stdout, /Passed: (\d+)\/\1, 0 failed/);
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
