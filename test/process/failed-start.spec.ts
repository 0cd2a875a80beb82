import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAnimalStore } from '../../src/app/start-animal-store';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { NO_SETTINGS } from '../support/no-settings';
import { rejectionOf } from '../support/start';

const withoutDatabase = urlWith((url) => (url.pathname = '/no_such_database'));
const withTls = urlWith((url) => url.searchParams.set('sslmode', 'verify-full'));

describe('a start that cannot succeed explains in one sentence', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('that .env cannot be read, and exits with status 1, as a command does', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'animal-store-env-'));
    mkdirSync(join(directory, '.env'));
    const workingDirectory = process.cwd();
    process.chdir(directory);
    const failed = await exitOf({}, '/dev/null');
    const command = await runCli(['keys', 'list']);
    process.chdir(workingDirectory);
    rmSync(directory, { recursive: true });
    expect(failed).toEqual({
      status: 1,
      error: expect.stringMatching(/^The file \.env cannot be read: .*\n$/),
    });
    expect(command).toMatchObject({ status: 1, out: '', all: failed.error });
  });

  it('that the disk of standard output is full, and creates no key', async () => {
    expect(await exitOf({ DATABASE_URL: database.directUrl }, '/dev/full')).toEqual({
      status: 1,
      error:
        'Standard output cannot be written (ENOSPC: no space left on device, write). Free space on its disk, or restart its reader.\n',
    });
    expect(await database.query('SELECT id FROM api_keys')).toEqual([]);
  });

  it('every invalid setting', async () => {
    const environment = {
      PORT: 'abc',
      DEPLOYMENT: 'prod',
      TRUST_PROXY: '1',
      DATABASE_URL: 'mysql://x',
      LOG_LEVEL: 'loud',
    };
    const sentence = await rejectionOf(environment);
    for (const name of Object.keys(environment)) expect(sentence).toContain(name);
    expect(sentence).not.toContain('\n');
  });

  it('that the metrics port is in use, or equal to PORT', async () => {
    const taken = await listener();
    const environment = { DATABASE_URL: database.url };
    expect(await rejectionOf({ ...environment, METRICS_PORT: String(taken.port) })).toBe(
      `127.0.0.1:${taken.port} is in use. Stop the program that uses it, or set METRICS_PORT.`,
    );
    expect(await rejectionOf({ ...environment, METRICS_PORT: '3123', PORT: '3123' })).toBe(
      'METRICS_PORT and PORT are both 3123: set METRICS_PORT to another port.',
    );
    taken.server.close();
  });

  it.each([
    ['the database cannot be reached', 'postgres://127.0.0.1:1/none', /^The database cannot be reached/],
    ['the database does not exist', withoutDatabase, /does not exist/],
    ['the database offers no TLS', withTls, /^The database offers no TLS: /],
    [
      'a certificate of DATABASE_URL cannot be read',
      'postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/nowhere',
      /^The file \/nowhere cannot be read/,
    ],
  ])('that %s', async (_what, url, sentence) => {
    expect(await rejectionOf({ DATABASE_URL: url })).toMatch(sentence);
  });

  it('that HOST is not an address of this machine', async () => {
    expect(await rejectionOf({ HOST: '192.0.2.1', DATABASE_URL: database.url })).toMatch(
      /^192\.0\.2\.1 is not an address of this machine/,
    );
  });

  it('that the pool is too large for the embedded server', async () => {
    const messageWith = (size: string) => rejectionOf({ DATABASE_POOL_SIZE: size, DATA_DIR: __filename });
    expect(await messageWith('51')).toContain('DATABASE_POOL_SIZE must be at most 50');
    expect(await messageWith('50')).toContain(__filename);
  });

  it('that DATA_DIR is a file', async () => {
    expect(await rejectionOf({ DATA_DIR: __filename })).toContain(__filename);
  });
});

/** Runs `npm start` in this process, with this file as standard output, until it would end the process. */
async function exitOf(environment: Readonly<Record<string, string>>, standardOutput: string) {
  let error = '';
  const events = ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException'];
  const before = events.map((event) => process.listeners(event as 'SIGTERM'));
  const fd = openSync(standardOutput, 'w');
  jest.spyOn(process, 'stdout', 'get').mockReturnValue({ fd } as typeof process.stdout);
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    error += String(text);
    return true;
  });
  jest.replaceProperty(process, 'env', { ...process.env, ...NO_SETTINGS, PORT: '0', ...environment });
  try {
    const status = await new Promise((resolve) => {
      jest.spyOn(process, 'exit').mockImplementation((code) => resolve(code) as never);
      void startAnimalStore();
    });
    return { status, error };
  } finally {
    jest.restoreAllMocks();
    for (const [at, event] of events.entries()) {
      const added = process.listeners(event as 'SIGTERM').filter((each) => !before[at]!.includes(each));
      for (const each of added) process.off(event, each);
    }
  }
}

function urlWith(change: (url: URL) => void): string {
  const url = new URL(process.env[ADMIN_URL_VARIABLE] ?? '');
  change(url);
  return url.href;
}

async function listener(): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}
