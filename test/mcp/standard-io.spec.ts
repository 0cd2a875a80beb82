import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { call, callEveryTool, INITIALIZE, readResult, request, TOOL_NAMES, toolCall } from './support';

const ROOT = join(__dirname, '..', '..');
const TYPESCRIPT = join(ROOT, 'test', 'support', 'typescript.cjs');
const MAIN = join(ROOT, 'src', 'cli', 'main.ts');
const GREATEST = '9223372036854775807';

describe('animal-store mcp', () => {
  let app: TestApp;
  let folder: string;
  let keyFile: string;
  beforeAll(async () => {
    app = await startApp();
    folder = mkdtempSync(join(tmpdir(), 'mcp-'));
    keyFile = join(folder, 'key');
    writeFileSync(keyFile, `${app.key}\n`, { mode: 0o600 });
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const args = () => ['-r', TYPESCRIPT, MAIN, 'mcp', '--base-url', app.url, '--key-file', keyFile];

  it.each(['legacy', 'auto'] as const)(
    'lists and calls the tools of a deployment for the official client (%s)',
    async (mode) => {
      const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(new StdioClientTransport({ command: process.execPath, args: args() }));
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
      expect(TOOL_NAMES).toEqual(expect.arrayContaining(await callEveryTool(client)));
      const added = await call(client, 'createPet', { name: 'Rex', categoryId: GREATEST });
      expect(added.body).toContain(`"categoryId":${GREATEST}`);
      const missing = await call(client, 'getPet', { petId: '0' });
      expect([missing.isError, missing.json.code]).toEqual([true, 'pet_not_found']);
      const forbidden = await call(client, 'nothing').catch(String);
      expect(forbidden).toContain('There is no tool of this name');
      await client.close();
    },
  );

  it('keeps an int64 beyond 2^53 exact that a client sends as an integer, and ends with its input', async () => {
    const program = spawn(process.execPath, args(), { stdio: ['pipe', 'pipe', 'inherit'] });
    const answers = createInterface(program.stdout)[Symbol.asyncIterator]();
    const ask = async (line: string) => {
      program.stdin.write(`${line}\n`);
      return JSON.parse(String((await answers.next()).value));
    };
    await ask(JSON.stringify(INITIALIZE));
    const text = JSON.stringify(toolCall(1, 'createPet', { name: 'Rex', categoryId: 0 }));
    const added = await ask(text.replace('"categoryId":0', `"categoryId":${GREATEST}`));
    expect(readResult(added.result).body).toContain(`"categoryId":${GREATEST}`);
    const decimal = await ask(text.replace('"categoryId":0', '"categoryId":9007199254740993.0'));
    expect(readResult(decimal.result).body).toContain('"categoryId":9007199254740993,');
    program.stdin.write('{\n');
    expect((await ask(JSON.stringify(request(2, 'ping')))).result).toEqual({});
    program.stdin.end();
    const [status] = await once(program, 'exit');
    expect(status).toBe(0);
  });

  it.each([
    ['a key file that is missing', () => ['--base-url', app.url, '--key-file', '/nowhere'], /cannot be read/],
    ['another key', () => ['--base-url', app.url, '--key-file', MAIN], /The API key .* several/],
    [
      'an address without a service',
      () => ['--base-url', 'http://127.0.0.1:9', '--key-file', keyFile],
      /gives no answer/,
    ],
    [
      'another service',
      () => ['--base-url', `${app.url}/docs`, '--key-file', keyFile],
      /is not the OpenAPI document/,
    ],
  ])('ends with one sentence for %s', async (_case, options, message) => {
    const { status, all, out } = await runCli(['mcp', ...options()]);
    expect([status, out]).toEqual([1, '']);
    expect(all).toMatch(message);
    expect(all.trim().split('\n')).toHaveLength(1);
  });

  it('ends with one sentence for a key that is not valid', async () => {
    const wrong = join(folder, 'wrong');
    writeFileSync(wrong, 'ask_test_no');
    const { status, all } = await runCli(['mcp', '--base-url', app.url, '--key-file', wrong]);
    expect(status).toBe(1);
    expect(all).toContain('refuses the key');
    expect(all).not.toContain('ask_test_no');
  });
});
