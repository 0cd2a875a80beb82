import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settingsFiles } from '../scripts/settings-files';
import { readConfig } from '../src/config/config';
import { settings } from '../src/config/settings';
import { UserError } from '../src/config/user-error';

const ROOT = join(__dirname, '..');

describe('settings', () => {
  const everySetting = Object.values(settings);

  it.each(Object.entries(settingsFiles()))('%s is what `npm run -s settings` writes', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
  });

  it('an empty or unset variable takes its default', () => {
    const empty = Object.fromEntries(everySetting.map(({ variable }) => [variable, '']));
    expect(readConfig(empty)).toEqual(readConfig({}));
    expect(readConfig({})).toMatchObject({
      deployment: 'development',
      port: 3000,
      publicBaseUrl: '/v1',
      trustProxy: [],
    });
  });

  const INVALID: Readonly<Record<string, readonly string[]>> = {
    DEPLOYMENT: ['Production'],
    PORT: ['65536', '0x10', '3000.5'],
    WORKERS: ['0', '65'],
    PUBLIC_BASE_URL: ['v1', '//evil.example/v1', 'https://x/v1?a=1', 'https://x/v1>', 'https://x/v1\r\nX: y'],
    DATABASE_URL: ['mysql://x'],
    DATABASE_POOL_SIZE: ['0'],
    DATABASE_PREPARED_STATEMENTS: ['yes'],
    DATABASE_PIPELINING: ['1'],
    DATABASE_POOL_WAIT_MS: ['0'],
    REDIS_URL: [
      'http://x',
      'redis://a, http://b',
      'redis://a:1,b:2',
      'redis://a/abc',
      'redis://a/1/2',
      'redis://a/9007199254740993',
      'redis://a?db=x',
      'redis://a/1?enableOfflineQueue=true',
    ],
    REDIS_TIMEOUT_MS: ['0'],
    TRUST_PROXY: ['true', '10.0.0.0/33', '10.0.0.0/8,2', 'loopback', '0.0.0.0/0', 'fe80::1%eth0'],
    CORS_ORIGINS: ['*', 'https://x/'],
    LOG_LEVEL: ['verbose'],
    BODY_LIMIT_BYTES: ['64k'],
    METRICS_PORT: ['on'],
    MAX_CONNECTIONS: ['0'],
    RATE_LIMIT_BAN_AFTER: ['301'],
  };
  const rows = Object.entries(INVALID).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  it.each(rows)('%s=%s is rejected by name', (variable, value) => {
    const read = () => readConfig({ [variable]: value });
    expect(read).toThrow(UserError);
    expect(read).toThrow(variable);
  });

  it('one message names every invalid setting, and repeats no password', () => {
    const urls = { DATABASE_URL: 'mysql://user:secret@host', REDIS_URL: 'http://:secret@host' };
    const read = () => readConfig({ PORT: 'x', LOG_LEVEL: 'y', ...urls });
    expect(read).toThrow(/PORT.*DATABASE_URL.*REDIS_URL.*LOG_LEVEL/);
    expect(read).not.toThrow(/secret/);
  });

  it.each([
    ['EMBEDDED_PG_BIN', 'set DATABASE_URL'],
    ['WEBHOOKS_KEY', 'encrypt the disk'],
    ['WEBHOOKS_KEY_FILE', 'remove it'],
  ])('%s of an earlier version is rejected with what to do, unless it is empty', (variable, fix) => {
    const sentence = new RegExp(`PORT .*; ${variable} is no longer a setting: .*${fix}`);
    expect(() => readConfig({ PORT: 'x', [variable]: 'y' })).toThrow(sentence);
    expect(readConfig({ [variable]: ' ' })).toEqual(readConfig({}));
  });

  it.each([
    ['TRUST_PROXY', '10.0.0.0/8, ::1/128,127.0.0.1', { trustProxy: ['10.0.0.0/8', '::1/128', '127.0.0.1'] }],
    ['CORS_ORIGINS', 'https://a.x, http://x:5173', { corsOrigins: ['https://a.x', 'http://x:5173'] }],
    ['PUBLIC_BASE_URL', 'https://api.x/v1/', { publicBaseUrl: 'https://api.x/v1' }],
    ['STAGING_BASE_URL', 'https://staging.x/v1', { stagingBaseUrl: 'https://staging.x/v1' }],
    ['PORT', '0', { port: 0 }],
    ['METRICS_PORT', '9100', { metricsPort: 9100 }],
    ['DATA_DIR', ' "/srv/$5"', { dataDir: '/srv/$5' }],
  ])('%s=%s is read as %j', (variable, given, read) =>
    expect(readConfig({ [variable]: given })).toMatchObject(read),
  );

  it('variables that are set, even to an empty value, win over those of .env, which may have a byte-order mark', () => {
    const directory = mkdtempSync(join(tmpdir(), 'animal-store-env-'));
    const lines = ['\uFEFFHOST=file', 'LOG_LEVEL=loud', "export PORT='1'", ''];
    writeFileSync(join(directory, '.env'), lines.join('\r\n'));
    const program = `
      require(${JSON.stringify(join(ROOT, 'test', 'support', 'typescript.cjs'))});
      const { loadEnvFile } = require(${JSON.stringify(join(ROOT, 'src', 'config', 'config'))});
      loadEnvFile();
      console.log(JSON.stringify([process.env.HOST, process.env.LOG_LEVEL, process.env.PORT]));`;
    const env = { PATH: process.env['PATH'], LOG_LEVEL: '', PORT: '2' };
    const printed = execFileSync(process.execPath, ['-e', program], { cwd: directory, env });
    rmSync(directory, { recursive: true });
    expect(JSON.parse(String(printed))).toEqual(['file', '', '2']);
  });
});

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function fileOf(content: string): string {
    const path = join(folder, 'secret');
    writeFileSync(path, content);
    return path;
  }

  it.each(['', '\n', '\r\n', ' \n'])('is its one line, without %j at the end, a mark and quotes', (end) => {
    const url = 'postgresql://shop:p%40ss@db/shop';
    expect(readConfig({ DATABASE_URL_FILE: fileOf(`\uFEFF"${url}"${end}`) }).databaseUrl).toBe(url);
    expect(readConfig({ REDIS_URL_FILE: fileOf(`redis://:x@r${end}`) }).redisUrl).toBe('redis://:x@r');
  });

  it('is rejected if the variable itself is set, too', () => {
    const both = { REDIS_URL: 'redis://:secret@a', REDIS_URL_FILE: fileOf('redis://:secret@b') };
    expect(() => readConfig(both)).toThrow(
      'Invalid settings: REDIS_URL and REDIS_URL_FILE are both set: keep one of them. Fix them and start again.',
    );
  });

  it('is not read if its variable is empty', () =>
    expect(readConfig({ REDIS_URL_FILE: '', REDIS_URL: 'redis://r' }).redisUrl).toBe('redis://r'));

  it.each([
    ['', 'DATABASE_URL is missing: the file of DATABASE_URL_FILE is empty'],
    ['postgres://a/b\nsecret\n', 'DATABASE_URL has a reserved character'],
    ['mysql://:secret@a/b', 'DATABASE_URL must be a URL that begins with postgres:// or postgresql://'],
  ])('that contains %j is rejected without being shown', (content, problem) => {
    const read = () => readConfig({ DATABASE_URL_FILE: fileOf(content) });
    expect(read).toThrow(problem);
    expect(read).not.toThrow(/secret@|secret\n/);
  });

  it('that is missing is named', () =>
    expect(() => readConfig({ DATABASE_URL_FILE: join(folder, 'missing') })).toThrow(
      /^Invalid settings: DATABASE_URL ENOENT: .*missing'\. Fix them/,
    ));
});
