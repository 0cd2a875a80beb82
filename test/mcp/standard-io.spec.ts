import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { serveStandardIo } from '../../src/mcp';
import { HttpGateway } from '../../src/mcp/stdio/http.gateway';
import { UserError } from '../../src/platform/errors/user-error';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { INITIALIZE, readResult, request, TOOL_NAMES, toolCall } from './support';

const GREATEST = '9223372036854775807';

describe('animal-store mcp', () => {
  let app: TestApp;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    folder = mkdtempSync(join(tmpdir(), 'mcp-'));
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  /** Runs the command in this process with a key file of this content, and no input. */
  function run(address: string, key: string) {
    const keyFile = join(folder, 'key');
    writeFileSync(keyFile, key, { mode: 0o600 });
    jest.spyOn(process, 'stdin', 'get').mockReturnValue(new PassThrough().end() as never);
    return runCli(['mcp', '--base-url', address, '--key-file', keyFile]);
  }

  it('lists and calls the tools of a deployment, with exact integers', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveStandardIo({ baseUrl: `${app.url}/v1`, key: app.key }, input, output);
    const responses = createInterface(output)[Symbol.asyncIterator]();
    const ask = async (line: string | object) => {
      input.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
      return JSON.parse(String((await responses.next()).value));
    };
    const add = async (categoryId: string) => {
      const text = JSON.stringify(toolCall(1, 'createPet', { name: 'Rex', categoryId: 0 }));
      const { result } = await ask(text.replace('"categoryId":0', `"categoryId":${categoryId}`));
      return readResult(result).body;
    };
    await ask(INITIALIZE);
    input.write('{\n');
    const { tools } = (await ask(request(0, 'tools/list'))).result;
    expect(tools.map(({ name }: { readonly name: string }) => name)).toEqual(TOOL_NAMES);
    for (const form of [GREATEST, `"${GREATEST}"`])
      expect(await add(form)).toContain(`"categoryId":${GREATEST}`);
    expect(await add('9007199254740993.0')).toContain('"categoryId":9007199254740993,');
    const missing = readResult((await ask(toolCall(2, 'getPet', { petId: '0' }))).result);
    expect([missing.isError, missing.json.code]).toEqual([true, 'pet_not_found']);
    expect((await ask(toolCall(3, 'nothing'))).error.message).toContain('There is no tool of this name');
    input.end();
    await served;
  });

  it('ends with its input', async () => {
    expect(await run(app.url, `${app.key}\n`)).toMatchObject({ status: 0, all: '' });
  });

  it.each([
    ['an empty key file', () => app.url, '', /The API key /],
    ['an address without a service', () => 'http://127.0.0.1:9', 'key', /gives no answer/],
    ['another service', () => `${app.url}/docs`, 'key', /is not the OpenAPI document/],
    ['a key that is not valid', () => app.url, 'ask_test_no', /refuses the key/],
  ])('ends with one sentence for %s', async (_case, address, key, message) => {
    const { status, all, out } = await run(address(), key);
    expect([status, out]).toEqual([1, '']);
    expect(all).toMatch(message);
    expect(all).not.toContain('ask_test_no');
    expect(all.trim().split('\n')).toHaveLength(1);
  });

  it('says of a response that breaks off that the call may have had its effect, and how to repeat it', async () => {
    const document = JSON.stringify({ info: { title: 'Animal Store', version: '1.0.0' }, paths: {} });
    const server = createServer(({ method, url }, response) => {
      if (method === 'POST') {
        response.writeHead(201, { 'content-length': 100 });
        response.write('{', () => response.destroy());
      } else response.end(url === '/openapi.json' ? document : '{"scopes":["pets:write"]}');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const gateway = await HttpGateway.open({ baseUrl: `http://127.0.0.1:${port}/v1`, key: 'a' }, 'session');
    const sent = gateway.send({ method: 'POST', path: '/pets', headers: {}, body: '{}' });
    const failure: unknown = await sent.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UserError);
    expect(String(failure)).toContain('repeat the call with the same Idempotency-Key');
    server.close();
  });
});
