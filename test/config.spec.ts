import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { settingsFiles } from '../scripts/settings-files';
import { readConfig } from '../src/platform/config/config';
import { settings } from '../src/platform/config/settings';
import { MIN_SERVER_VERSION } from '../src/platform/database/migrate';
import { UserError } from '../src/platform/errors/user-error';

const ROOT = join(__dirname, '..');

describe('settings', () => {
  const everySetting = Object.values(settings);

  it.each(Object.entries(settingsFiles()))('%s is what `npm run -s settings` writes', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
  });

  it('DATABASE_URL names the oldest version of PostgreSQL that the start accepts', () => {
    expect(settings.databaseUrl.meaning).toContain(`version ${MIN_SERVER_VERSION} or newer`);
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

  it.each([
    ['DEPLOYMENT', 'Production'],
    ['PORT', '65536'],
    ['PORT', '0x10'],
    ['PORT', '3000.5'],
    ['WORKERS', '0'],
    ['WORKERS', '65'],
    ['PUBLIC_BASE_URL', 'v1'],
    ['PUBLIC_BASE_URL', '//evil.example/v1'],
    ['PUBLIC_BASE_URL', 'https://x/v1?a=1'],
    ['PUBLIC_BASE_URL', 'https://x/v1>'],
    ['PUBLIC_BASE_URL', 'https://x/v1\r\nX: y'],
    ['DATABASE_URL', 'mysql://x'],
    ['DATABASE_POOL_SIZE', '0'],
    ['DATABASE_PREPARED_STATEMENTS', 'yes'],
    ['DATABASE_PIPELINING', '1'],
    ['DATABASE_POOL_WAIT_MS', '0'],
    ['REDIS_URL', 'http://x'],
    ['REDIS_URL', 'redis://a, http://b'],
    ['REDIS_URL', 'redis://a:1,b:2'],
    ['REDIS_URL', 'redis://a/abc'],
    ['REDIS_URL', 'redis://a/1/2'],
    ['REDIS_URL', 'redis://a/9007199254740993'],
    ['REDIS_URL', 'redis://a?db=x'],
    ['REDIS_URL', 'redis://a/1?enableOfflineQueue=true'],
    ['REDIS_TIMEOUT_MS', '0'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['TRUST_PROXY', '10.0.0.0/8,2'],
    ['TRUST_PROXY', 'loopback'],
    ['TRUST_PROXY', '0.0.0.0/0'],
    ['TRUST_PROXY', 'fe80::1%eth0'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://x/'],
    ['LOG_LEVEL', 'verbose'],
    ['BODY_LIMIT_BYTES', '64k'],
    ['METRICS_PORT', 'on'],
    ['MAX_CONNECTIONS', '0'],
    ['RATE_LIMIT_BAN_AFTER', '301'],
  ])('%s=%s is rejected by name', (variable, value) => {
    expect(() => readConfig({ [variable]: value })).toThrow(UserError);
    expect(() => readConfig({ [variable]: value })).toThrow(variable);
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

  it('lists, base URLs and numbers are parsed', () => {
    expect(
      readConfig({
        TRUST_PROXY: '10.0.0.0/8, ::1/128,127.0.0.1',
        CORS_ORIGINS: 'https://a.example, http://localhost:5173',
        PUBLIC_BASE_URL: 'https://api.example.com/v1/',
        STAGING_BASE_URL: 'https://staging.example.com/v1',
        PORT: '0',
        METRICS_PORT: '9100',
        REDIS_URL: 'rediss://:pass,word@a:6379',
      }),
    ).toMatchObject({
      trustProxy: ['10.0.0.0/8', '::1/128', '127.0.0.1'],
      corsOrigins: ['https://a.example', 'http://localhost:5173'],
      publicBaseUrl: 'https://api.example.com/v1',
      stagingBaseUrl: 'https://staging.example.com/v1',
      port: 0,
      metricsPort: 9100,
      redisUrl: 'rediss://:pass,word@a:6379',
    });
  });

  it.each(['redis://a', 'redis://a/', 'redis://a:1/0', 'redis://:p@a/15'])(
    'REDIS_URL=%s is valid, with a database number or without one',
    (url) => expect(readConfig({ REDIS_URL: url }).redisUrl).toBe(url),
  );

  it.each([
    ['DATABASE_URL', 'postgresql://app:hunter@a:1,b/shop'],
    ['DATABASE_URL', 'postgresql://app:p,hunter@[::1],[::2]/shop?target_session_attrs=any'],
    ['DATABASE_URL', 'postgresql://app:hunter@/shop?host=/one,two'],
    ['DATABASE_URL', 'postgresql:///shop?password=hunter&host=a%2Cb&port=1'],
    ['REDIS_URL', 'redis://:hunter@a,b:1/0'],
    ['REDIS_URL', 'redis://:hunter@a/0, redis://:hunter@b/0'],
    ['REDIS_URL', 'rediss://:hunter@a/0?sentinel=store'],
  ])('%s=%s names several servers, and is rejected with what to do', (variable, url) => {
    const sentence = `Invalid settings: ${variable} names several servers: name one endpoint in front of them, such as HAProxy. Fix`;
    expect(() => readConfig({ [variable]: url })).toThrow(sentence);
    expect(() => readConfig({ [variable]: url })).not.toThrow(/hunter/);
  });

  it.each([
    ['/srv/$5', '/srv/$5'],
    ['~', homedir()],
    ['~/data', join(homedir(), 'data')],
    ['$HOME/data', join(homedir(), 'data')],
    ['${HOME}/a~b', join(homedir(), 'a~b')],
  ])('DATA_DIR=%s is the folder %s', (given, folder) =>
    expect(readConfig({ DATA_DIR: `"${given}"` }).dataDir).toBe(folder),
  );

  it.each(['~other/data', '$XDG_DATA_HOME/data', '/srv/${NAME}'])('DATA_DIR=%s is rejected', (given) =>
    expect(() => readConfig({ DATA_DIR: given })).toThrow(
      `DATA_DIR must be a path without variables and names of users, not "${given}": write it in full.`,
    ),
  );

  it('variables that are set, even to an empty value, win over those of .env, which may have a byte-order mark', () => {
    const directory = mkdtempSync(join(tmpdir(), 'animal-store-env-'));
    const lines = ['\uFEFFHOST=file', 'LOG_LEVEL=loud', "\uFEFFexport PORT='1'", ''];
    writeFileSync(join(directory, '.env'), lines.join('\r\n'));
    const program = `
      require(${JSON.stringify(join(ROOT, 'test', 'support', 'typescript.cjs'))});
      const { loadEnvFile } = require(${JSON.stringify(join(ROOT, 'src', 'platform', 'config', 'config'))});
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
    expect(readConfig({ DATABASE_URL_FILE: fileOf(`${url}${end}`) }).databaseUrl).toBe(url);
    expect(readConfig({ REDIS_URL_FILE: fileOf(`redis://:x@r${end}`) }).redisUrl).toBe('redis://:x@r');
  });

  it('is rejected if the variable itself is set, too', () => {
    const both = { REDIS_URL: 'redis://:secret@a', REDIS_URL_FILE: fileOf('redis://:secret@b') };
    expect(() => readConfig(both)).toThrow(
      'Invalid settings: REDIS_URL and REDIS_URL_FILE are both set: keep one of them. Fix them and start again.',
    );
  });

  it('is not read if its variable is empty', () => {
    const { databaseUrl } = readConfig({ DATABASE_URL_FILE: '', DATABASE_URL: 'postgres://a/b' });
    expect(databaseUrl).toBe('postgres://a/b');
  });

  it.each([
    ['', 'DATABASE_URL is missing: the file of DATABASE_URL_FILE is empty'],
    ['postgres://a/b\nsecret\n', 'DATABASE_URL has a reserved character'],
    ['mysql://:secret@a/b', 'DATABASE_URL must be a URL that begins with postgres:// or postgresql://'],
  ])('that contains %j is rejected without being shown', (content, problem) => {
    const read = () => readConfig({ DATABASE_URL_FILE: fileOf(content) });
    expect(read).toThrow(problem);
    expect(read).not.toThrow(/secret@|secret\n/);
  });

  it('that cannot be read is rejected by the name of its variable, and a pipe without a writer does not stop the start', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [
      folder,
      pipe,
      fileOf(`postgres://a/b${' '.repeat(2 ** 20)}`),
      join(folder, 'missing'),
    ])
      expect(() => readConfig({ DATABASE_URL_FILE: path })).toThrow(
        `DATABASE_URL cannot be read: DATABASE_URL_FILE must name a file that this user may read, not "${path}" (UTF-8 text, at most 1 MiB)`,
      );
  });

  it.each(['utf16le', 'latin1'] as const)('that is %s is rejected', (encoding) => {
    const path = join(folder, 'secret');
    writeFileSync(path, Buffer.from('postgres://é:secret@a/b', encoding));
    expect(() => readConfig({ DATABASE_URL_FILE: path })).toThrow(/must name a file .*UTF-8 text/);
  });
});

describe('a URL with a password', () => {
  const sentence =
    'DATABASE_URL has a reserved character in its user name or password: write % as %25, @ as %40, / as %2F, ? as %3F, # as %23, a space as %20';

  it.each(['p@ss/w:rd#1', 'a/b', 'a?b', 'a#b', 'a/b?c=d', '50%', '%zz', 'a/', 'a b%2Fc'])(
    'that contains %j unencoded is rejected with the encoding',
    (password) => {
      const read = () => readConfig({ DATABASE_URL: `postgresql://shop:${password}@db:5432/shop` });
      expect(read).toThrow(sentence);
      expect(read).not.toThrow(password);
      expect(() => readConfig({ REDIS_URL: `redis://:${password}@cache` })).toThrow(/^.*REDIS_URL has a res/);
    },
  );

  it.each([
    'postgresql://shop:p%40ss%2Fw%3Ard%231@db/shop',
    'postgresql://shop:p@ss@db/shop',
    'postgresql://shop@db/shop?application_name=a%40b',
    'postgresql:///shop?user=a%40b&host=%2Frun%2Fpostgresql',
    'postgresql://shop:a%20b@[::1]:5432/shop?sslmode=verify-full',
  ])('%s is valid', (url) => expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url));
});
