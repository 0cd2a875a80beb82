import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoundedClient } from '../../src/platform/database/data-source';
import { Hosts } from '../../src/platform/database/hosts';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { HINT, OLD_SERVER_BIN } from '../support/each-server';
import { aNewPet } from '../support/factories';
import { describeWhen } from '../support/it-when';
import { MAX_START_MS } from '../support/service';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';
import { expectUnavailable } from './support/expect-unavailable';
import { query } from './support/own-server';
import { type Pair, startPair } from './support/pair';

jest.setTimeout(2 * MAX_START_MS);

const POOL_SIZE = 9;
const without = { key: undefined };

const SESSIONS = `
  SELECT FROM pg_stat_activity
  WHERE application_name = '' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;

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
    const statement = onOld.query('SELECT 1');
    await compared();
    await statement;
    jest.useRealTimers();
    await onOld.query('SELECT 1');

    await change(old, `SET synchronous_standby_names = 'none'`);
    await until(
      async () =>
        (await query(old, 'SHOW synchronous_standby_names'))[0]?.['synchronous_standby_names'] === 'none',
    );
    // A host is compared at most once a second.
    const now = performance.now.bind(performance);
    const setAhead = (ms: number) => jest.spyOn(performance, 'now').mockImplementation(() => now() + ms);
    setAhead(1_000);
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
    setAhead(32_000);
    await later.connect();
    expect(later.port).toBe(5433);
    await later.end();
  });
});
