import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settings } from '../../src/config/settings';
import { startCuttingProxy } from '../failure/support/cutting-proxy';
import { createDatabase, type TestDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { rejectionOf } from '../support/start';
import { holdTimers, passWhile } from '../support/timers';

const withoutDatabase = urlWith((url) => (url.pathname = '/no_such_database'));
const withTls = urlWith((url) => url.searchParams.set('sslmode', 'verify-full'));

const UNUSABLE =
  /^The database cannot be used \(.*\w.*\): check DATABASE_URL, its server, and the rights of its user\.$/;

describe('a start that cannot succeed explains in one sentence', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('that .env cannot be read, and exits with status 1', () => {
    const directory = mkdtempSync(join(tmpdir(), 'animal-store-env-'));
    writeFileSync(join(directory, '.env'), Buffer.from('\uFEFFHOST=x', 'utf16le'));
    const program = [
      '-r',
      require.resolve('../support/typescript.cjs'),
      require.resolve('../support/main.cjs'),
    ];
    const { status, stderr } = spawnSync(process.execPath, program, { cwd: directory, encoding: 'utf8' });
    rmSync(directory, { recursive: true });
    expect(stderr).toMatch(/^The file \.env cannot be read: .*\n$/);
    expect(status).toBe(1);
  });

  it('that HOST is not an address of this machine, or the metrics port is in use', async () => {
    const taken = await listener();
    const environment = { DATABASE_URL: database.url };
    expect(await rejectionOf({ ...environment, METRICS_PORT: String(taken.port) })).toBe(
      `The service cannot listen (Error: listen EADDRINUSE: address already in use 127.0.0.1:${taken.port}). Stop the program that uses the address, or set METRICS_HOST or METRICS_PORT.`,
    );
    taken.server.close();
    expect(await rejectionOf({ ...environment, HOST: '192.0.2.1' })).toContain('EADDRNOTAVAIL');
  });

  it.each([
    ['the database cannot be used', 'postgres://127.0.0.1:1/none', UNUSABLE],
    ['the host of the database is unknown', 'postgres://no-such-host.invalid/x', UNUSABLE],
    ['the database does not exist', withoutDatabase, /does not exist/],
    ['the database offers no TLS', withTls, UNUSABLE],
    [
      'a certificate of DATABASE_URL cannot be read',
      'postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/nowhere',
      /^The file \/nowhere cannot be read/,
    ],
  ])('that %s', async (_what, url, sentence) => {
    expect(await rejectionOf({ DATABASE_URL: url })).toMatch(sentence);
  });

  it('that the search_path begins with a schema of PostgreSQL', async () => {
    const empty = await createDatabase('template0');
    const url = new URL(empty.directUrl);
    for (const schema of ['pg_temp', 'pg_catalog']) {
      url.searchParams.set('options', `-csearch_path=${schema},public`);
      expect(await rejectionOf({ DATABASE_URL: url.href })).toMatch(
        /^New tables would be in the schema pg_(temp_\d+|catalog), not in public: let the search_path of the user in DATABASE_URL name only the schema of the store\.$/,
      );
    }
    await empty.drop();
  });

  it('that the encoding of the database is not UTF8', async () => {
    const name = `${new URL(database.directUrl).pathname.slice(1)}_latin1`;
    await database.administer(
      `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`,
    );
    expect(await rejectionOf({ DATABASE_URL: urlWith((url) => (url.pathname = `/${name}`)) })).toBe(
      `The database in DATABASE_URL is of PostgreSQL 18 with the encoding LATIN1, and Animal Store needs 15 or later with UTF8: name one that was created with ENCODING 'UTF8' on such a server.`,
    );
    await database.administer(`DROP DATABASE ${name} WITH (FORCE)`);
  });

  it('that the database server is too old, does not respond, or is not a PostgreSQL', async () => {
    const proxy = await startCuttingProxy(database.directUrl);
    const [{ version } = { version: '' }] = await database.query<{ version: string }>(
      `SELECT current_setting('server_version_num') AS version`,
    );
    proxy.replaced = [version, '140012'];
    const [, oldest] = /version (\d+) or newer/.exec(settings.databaseUrl.meaning)!;
    expect(await rejectionOf({ DATABASE_URL: proxy.through(database.directUrl) })).toMatch(
      new RegExp(
        `^The database in DATABASE_URL is of PostgreSQL 14 with the encoding UTF8, and Animal Store needs ${oldest} or later `,
      ),
    );
    await proxy.close();
    for (const behave of [undefined, respondAsWebServer]) {
      const other = await listener(behave);
      holdTimers({ timeouts: true });
      const rejection = rejectionOf({ DATABASE_URL: `postgres://x@127.0.0.1:${other.port}/x` });
      expect(await passWhile(rejection)).toMatch(UNUSABLE);
      jest.useRealTimers();
      other.server.close();
    }
  });
});

function urlWith(change: (url: URL) => void): string {
  const url = new URL(process.env[ADMIN_URL_VARIABLE] ?? '');
  change(url);
  return url.href;
}

async function listener(behave: (socket: Socket) => void = (socket) => void socket.resume()) {
  const server = createServer((socket) => behave(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

function respondAsWebServer(socket: Socket): void {
  socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
}
