import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoundedClient } from '../../src/platform/database/data-source';
import { Hosts } from '../../src/platform/database/hosts';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { ADMIN_URL_VARIABLE } from '../support/database-urls';
import { HINT, OLD_SERVER_BIN } from '../support/each-server';
import { aNewPet } from '../support/factories';
import { describeWhen } from '../support/it-when';
import { MAX_START_MS } from '../support/service';
import { rejectionOf } from '../support/start';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { createAuthority, hasOpenssl } from './support/certificates';
import { startCuttingProxy } from './support/cutting-proxy';
import { expectUnavailable } from './support/expect-unavailable';
import { query } from './support/own-server';
import { type Pair, startPair } from './support/pair';
import { poolOf } from './support/pool';
import { startTlsProxy } from './support/tls-proxy';

jest.setTimeout(2 * MAX_START_MS);

const POOL_SIZE = 9;
const without = { key: undefined };
const isNeeded = existsSync(OLD_SERVER_BIN) || process.env['CI'] === 'true';

describeWhen(isNeeded, HINT)('a DATABASE_URL with a primary and a standby', () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-hosts-'));
  let pair: Pair;
  let app: TestApp;
  let url: string;
  beforeAll(async () => {
    pair = await startPair();
    const database = pair.database(pair.standby.host, pair.primary.host);
    ({ url } = database);
    app = await startApp({ databasePoolSize: POOL_SIZE }, { database });
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await app.close();
    pair.remove();
    rmSync(folder, { recursive: true });
  });

  const ready = async () => (await app.get('/readyz', without)).status;

  /** Sends more requests at a time than the service has connections, and expects that each succeeds. */
  async function expectSound(): Promise<void> {
    const key = await app.unlimitedKey();
    const asked = Array.from({ length: 15 }, (_, at) => [
      app.get(`/v1/pets?limit=${at + 1}`, { key }),
      app.post('/v1/pets', aNewPet(), { key }),
      app.get('/v1/webhooks', { key }),
      app.get('/readyz', without),
    ]);
    const responses = await Promise.all(asked.flat());
    expect(responses.filter(({ status }) => status >= 300)).toEqual([]);
  }

  it('leads every connection of the API and of commands to the primary; after a promotion to the standby, from the first success without a failure; if a server becomes read-only, one change fails and every connection is replaced', async () => {
    await expectSound();
    expect((await query(pair.primary.url, SESSIONS)).length).toBeGreaterThan(3);
    // Those of the tries are about to end.
    await until(async () => (await query(pair.standby.url, SESSIONS)).length === 0);
    await query(pair.primary.url, 'CREATE DATABASE restored');
    const run = (database: string, ...args: string[]) =>
      runCli(args, { DATABASE_URL: url.replace(/\w+$/, database) });
    const file = join(folder, 'backup.gz');
    expect(await run('postgres', 'db', 'backup', file)).toMatchObject({ status: 0 });
    expect(await run('restored', 'db', 'restore', file)).toMatchObject({ status: 0 });
    expect(await run('restored', 'pets', 'export', join(folder, 'pets.csv'))).toMatchObject({ status: 0 });

    pair.primary.crash();
    expectUnavailable(await app.post('/v1/pets', aNewPet()));
    expect(await ready()).toBe(503);
    pair.standby.promote();
    await until(async () => (await ready()) === 200);
    await expectSound();

    pair.primary.start();
    const { url: readOnly } = pair.standby;
    await query(readOnly, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await query(readOnly, 'SELECT pg_reload_conf()');
    const shown = async () => (await query(readOnly, 'SHOW transaction_read_only'))[0];
    await until(async () => (await shown())?.['transaction_read_only'] === 'on');
    // The connections are renewed at most once a second, and a fast machine has just done so.
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 1_000);
    const statuses: number[] = [];
    while (statuses.at(-1) !== 201 && statuses.length < 10)
      statuses.push((await app.post('/v1/pets', aNewPet())).status);
    // Work in the background may have found it first.
    expect([[201], [503, 201]]).toContainEqual(statuses);
    await expectSound();
    const list = (target: string) =>
      runCli(['keys', 'list'], { DATABASE_URL: `${readOnly}?target_session_attrs=${target}` });
    expect(await list('read-write')).toMatchObject({
      status: 1,
      all: 'The database in DATABASE_URL is read-only: name the primary server, or make it writable.\n',
    });
    for (const target of ['any', 'primary']) expect(await list(target)).toMatchObject({ status: 0 });
  });

  it('leaves an old primary that is still writable when a commit hangs, for good, and not because a statement takes long', async () => {
    const [old, promoted] = [pair.primary.url, pair.standby.url];
    const change = async (server: string, setting: string) => {
      await query(server, `ALTER SYSTEM ${setting}`);
      await query(server, 'SELECT pg_reload_conf()');
    };
    await change(promoted, 'RESET default_transaction_read_only');
    await until(
      async () =>
        (await query(promoted, 'SHOW transaction_read_only'))[0]?.['transaction_read_only'] === 'off',
    );
    const leave = jest.spyOn(Hosts.prototype, 'leaveIfOld' as never);
    const compared = async () => {
      pass({ seconds: 1 });
      await Promise.all(leave.mock.results.map(({ value }) => value));
    };
    const connectionString = pair.url(pair.primary.host, pair.standby.host);
    const config = { connectionString, hosts: new Hosts(connectionString) };
    const [onOld, later] = [new BoundedClient(config), new BoundedClient(config)];
    await onOld.connect();
    holdTimers({ timeouts: true });
    const statement = onOld.query('SELECT pg_sleep(2)');
    await compared();
    await statement;
    jest.useRealTimers();

    await change(old, `SET synchronous_standby_names = 'none'`);
    await until(
      async () =>
        (await query(old, 'SHOW synchronous_standby_names'))[0]?.['synchronous_standby_names'] === 'none',
    );
    holdTimers({ timeouts: true });
    const hanging = app.post('/v1/pets', aNewPet());
    await until(
      async () => (await query(old, `SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).length > 0,
    );
    const other = onOld.query('CREATE TABLE lost ()');
    await compared();
    expectUnavailable(await hanging);
    await expect(other).rejects.toThrow('Connection terminated');
    jest.useRealTimers();
    await expectSound();
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 31_000);
    await later.connect();
    expect(later.port).toBe(5433);
    await later.end();
  });
});

const SESSIONS = `
  SELECT FROM pg_stat_activity
  WHERE application_name = '' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;

describe('a DATABASE_URL with several hosts', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('waits a second for a host that never responds, and then tries it last for 30 s', async () => {
    const hole = await startHole();
    const proxy = await startCuttingProxy(process.env[ADMIN_URL_VARIABLE] ?? '');
    const behind = new URL(proxy.through(database.directUrl));
    const url = behind.href.replace(behind.host, `${hole.host},${behind.host}`);
    holdTimers({ timeouts: true, measured: true });
    const skipHole = async <T>(work: Promise<T>): Promise<T> => {
      const { count } = hole;
      await until(() => hole.count > count);
      pass({ seconds: 1 });
      return work;
    };
    const app = await skipHole(
      startApp({}, { database: { ...database, url, drop: () => Promise.resolve() } }),
    );
    const reconnect = async () => {
      await until(() => {
        proxy.end();
        return poolOf(app).totalCount === 0;
      });
      return (await app.post('/v1/pets', aNewPet())).status;
    };
    for (let round = 0; round < 3; round += 1) expect(await reconnect()).toBe(201);
    expect(hole.count).toBe(1);
    pass({ seconds: 31 });
    expect(await skipHole(reconnect())).toBe(201);
    expect(hole.count).toBe(2);
    jest.useRealTimers();
    await app.close();
    await proxy.close();
    hole.close();
  });

  it('tries a host last on which a statement got no response, like the commit of a primary without standbys', async () => {
    const server = process.env[ADMIN_URL_VARIABLE] ?? '';
    const [first, second] = [await startCuttingProxy(server), await startCuttingProxy(server)];
    const [one, other] = [first, second].map((each) => new URL(each.through(database.directUrl)));
    const connectionString = one!.href.replace(one!.host, `${one!.host},${other!.host}`);
    const config = { connectionString, hosts: new Hosts(connectionString), query_timeout: 6_000 };
    const [lost, next] = [new BoundedClient(config), new BoundedClient(config)];
    await lost.connect();
    expect(second.count).toBe(0);
    holdTimers({ timeouts: true, measured: true });
    first.isSilent = true;
    const result = lost.query('SELECT 1');
    pass({ seconds: 6 });
    await expect(result).rejects.toThrow('Query read timeout');
    first.isSilent = false;
    await next.connect();
    expect(second.count).toBeGreaterThan(0);
    jest.useRealTimers();
    await next.end();
    for (const each of [first, second]) await each.close();
  });

  it('is one sentence with the hosts and without the password if none can be reached', async () => {
    const hole = await startHole();
    holdTimers({ timeouts: true });
    const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    let message = '';
    const url = `postgres://x:hunter@127.0.0.1:1,[::1]:2,${hole.host}/none`;
    void rejectionOf({ DATABASE_URL: url }).then((sentence) => (message = sentence));
    // The search waits for the hole 1, 2, 4, 8 and the last 12 s. Each time counts from the connection.
    let tries = 0;
    await until(() => {
      if (hole.count > tries) {
        pass({ seconds: Math.min(2 ** tries, 12) });
        tries += 1;
      }
      return message !== '';
    });
    expect(said).toHaveBeenCalledWith(`Waiting for the database at 127.0.0.1:1, [::1]:2, ${hole.host}…\n`);
    said.mockRestore();
    jest.useRealTimers();
    hole.close();
    const named = String.raw`127\.0\.0\.1:1: .+; \[::1\]:2: .+; ${hole.host}: timeout expired`;
    expect(message).toMatch(new RegExp(`^The database cannot be reached \\(${named}\\): check DATABASE_URL`));
    expect(message).not.toContain('hunter');
    const rejected = new URL(database.directUrl);
    rejected.pathname = '/no_such_database';
    expect(await rejectionOf({ DATABASE_URL: several(rejected) })).toMatch(
      /^The database named in DATABASE_URL does not exist/,
    );
    const form = 'postgres://x:hunter@/none?host=/nowhere,127.0.0.1&port=1';
    expect(await rejectionOf({ DATABASE_URL: form })).toMatch(
      /^The database cannot be reached \(\/nowhere: .+; 127\.0\.0\.1: .+\): check DATABASE_URL/,
    );
  });

  describeWhen(hasOpenssl, 'openssl is not installed')('with TLS', () => {
    it('expects the certificate of the host that it connects to', async () => {
      const authority = createAuthority();
      const proxy = await startTlsProxy(
        process.env[ADMIN_URL_VARIABLE] ?? '',
        authority.issue('127.0.0.1', 2100),
      );
      const { href, host, port } = new URL(
        proxy.through(database.url, `sslmode=verify-full&sslrootcert=${authority.file}`),
      );
      const url = href.replace(host, `localhost:${port},${host}`);
      const app = await startApp({}, { database: { ...database, url, drop: () => Promise.resolve() } });
      expect((await app.post('/v1/pets', aNewPet())).status).toBe(201);
      expect(
        await rejectionOf({ DATABASE_URL: href.replace(host, `localhost:${port},localhost:${port}`) }),
      ).toMatch(/^The TLS connection to the database fails \(/);
      await app.close();
      await proxy.close();
      authority.remove();
    });
  });
});

/** Names the socket folder of a URL twice, as hosts. */
function several(url: URL): string {
  const folder = encodeURIComponent(url.searchParams.get('host') ?? '');
  return `postgresql://${url.username}@${folder},${folder}${url.pathname}`;
}

/** A listener that accepts connections and never responds. */
async function startHole() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get count() {
      return sockets.length;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
