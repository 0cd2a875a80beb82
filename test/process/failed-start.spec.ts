import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../support/cli';
import { createDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { dataFolder, run } from '../support/service';
import { rejectionOf, startHere } from '../support/start';

const withoutDatabase = urlWith((url) => (url.pathname = '/no_such_database'));
const withTls = urlWith((url) => url.searchParams.set('sslmode', 'verify-full'));

describe('a start that cannot succeed explains in one sentence', () => {
  it('that .env cannot be read, and exits with status 1, as a command does', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'animal-store-env-'));
    mkdirSync(join(directory, '.env'));
    const failed = run('main', [], {}, directory);
    expect(await failed.ended).toBe(1);
    expect(failed.standardOutput()).toBe('');
    expect(failed.output()).toMatch(/^The file \.env cannot be read: .*\n$/);
    const workingDirectory = process.cwd();
    process.chdir(directory);
    const command = await runCli(['keys', 'list']).finally(() => process.chdir(workingDirectory));
    expect(command).toMatchObject({ status: 1, out: '', all: failed.output() });
    rmSync(directory, { recursive: true });
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

  it('that the port is in use, and leaves no lock and no key', async () => {
    const folder = dataFolder();
    const taken = await listener();
    const environment = { DATA_DIR: folder.path };
    expect(await rejectionOf({ ...environment, PORT: String(taken.port) })).toBe(
      `127.0.0.1:${taken.port} is in use. Stop the program that uses it, or set PORT.`,
    );
    taken.server.close();
    expect(existsSync(join(folder.path, 'app.lock'))).toBe(false);
    // The first successful start prints the key.
    const service = await startHere(environment);
    expect(service.key).toMatch(/^ask_test_/);
    await service.stop();
    folder.remove();
  });

  it('that the metrics port is in use, or equal to PORT', async () => {
    const database = await createDatabase();
    const taken = await listener();
    const environment = { DATABASE_URL: database.url };
    expect(await rejectionOf({ ...environment, METRICS_PORT: String(taken.port) })).toBe(
      `127.0.0.1:${taken.port} is in use. Stop the program that uses it, or set METRICS_PORT.`,
    );
    expect(await rejectionOf({ ...environment, METRICS_PORT: '3123', PORT: '3123' })).toBe(
      'METRICS_PORT and PORT are both 3123: set METRICS_PORT to another port.',
    );
    taken.server.close();
    await database.drop();
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
    const database = await createDatabase();
    expect(await rejectionOf({ HOST: '192.0.2.1', DATABASE_URL: database.url })).toMatch(
      /^192\.0\.2\.1 is not an address of this machine/,
    );
    await database.drop();
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
