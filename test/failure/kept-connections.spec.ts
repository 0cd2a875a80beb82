import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { startInstances } from '../support/instances';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { dataFolder, MAX_START_MS } from '../support/service';
import { until } from '../support/until';
import { startCuttingProxy } from './support/cutting-proxy';
import { expectUnavailable } from './support/expect-unavailable';
import { query } from './support/own-server';
import { describeWithPair, type Pair, startPair } from './support/pair';

jest.setTimeout(2 * MAX_START_MS);

const without = { key: undefined };
const LIMIT = 16;

describeWithPair('an endpoint of PostgreSQL that keeps connections to the old primary', () => {
  let pair: Pair;
  let app: TestApp;
  beforeAll(async () => {
    pair = await startPair();
    app = await startApp({ databasePoolSize: 9 }, { database: pair.database });
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await app.close();
    await pair.remove();
  });

  /** The connections are renewed at most once a second, and a fast machine has just done so. */
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  function passSecond(): void {
    aheadMs += 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  }

  /** Sends more requests at a time than the service has connections. @returns the responses without success */
  async function failures() {
    const key = await app.unlimitedKey();
    const asked = Array.from({ length: 15 }, (_, at) => [
      app.get(`/v1/pets?limit=${at + 1}`, { key }),
      app.post('/v1/pets', aNewPet(), { key }),
      app.get('/v1/webhooks', { key }),
      app.get('/readyz', without),
    ]);
    const responses = await Promise.all(asked.flat());
    return responses.filter(({ status }) => status >= 300);
  }

  /** Expects that one change fails at most, and that every request after it succeeds. */
  async function expectMoved(): Promise<void> {
    const statuses: number[] = [];
    while (statuses.at(-1) !== 201 && statuses.length < 10)
      statuses.push((await app.post('/v1/pets', aNewPet())).status);
    // Work in the background may have found it first.
    expect([[201], [503, 201]]).toContainEqual(statuses);
    expect(await failures()).toEqual([]);
  }

  it('fails one change at most: the connections to a standby are closed together', async () => {
    expect(await failures()).toEqual([]);
    pair.proxy.leadTo(pair.standby.url);
    pair.proxy.end();
    expect((await app.get('/v1/pets')).status).toBe(200);
    expectUnavailable(await app.post('/v1/pets', aNewPet()));
    // Each read opens a connection, because all are busy.
    await Promise.all(Array.from({ length: 30 }, () => app.get('/v1/webhooks')));
    pair.proxy.leadTo(pair.primary.url);
    passSecond();
    await expectMoved();
  });

  it('fails one change at most: the connections to a primary that became read-only are closed together', async () => {
    const { primary, standby, proxy } = pair;
    await query(primary.url, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await query(primary.url, 'SELECT pg_reload_conf()');
    const positions = `SELECT pg_current_wal_flush_lsn()::text AS position`;
    const [written] = await query(primary.url, positions);
    const replayed = `SELECT FROM pg_stat_replication WHERE replay_lsn >= '${String(written!['position'])}'`;
    await until(async () => (await query(primary.url, replayed)).length > 0);
    standby.promote();
    proxy.leadTo(standby.url);
    const before = proxy.count;
    expect(before).toBeGreaterThan(3);
    passSecond();
    await expectMoved();
  });
});

describeWithRedis('an endpoint of Redis that keeps connections to the old master', () => {
  it('fails no request: the instances leave it when it is read-only, and share their limits again', async () => {
    // A replica writes what it copies.
    const folder = dataFolder();
    const servers = await Promise.all([1, 2].map(() => startRedis('--dir', folder.path)));
    const [old, promoted] = servers as [RedisServer, RedisServer];
    const urlOf = ({ port }: RedisServer) => `redis://127.0.0.1:${port}`;
    const proxy = await startCuttingProxy(urlOf(old));
    const url = `redis://${new URL(proxy.through(urlOf(old))).host}`;
    const instances = await startInstances(2, { ...old, url: () => url });
    const choice = { plan: 'enterprise', perMinute: LIMIT, perDay: 1e6 } as const;
    const admitted = async () => {
      const { key } = await instances.apps[0]!.createKey({ choice });
      const asked = Array.from({ length: 2 * LIMIT }, () => instances.get('/v1/pets?limit=1', { key }));
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      expect(statuses.filter((status) => ![200, 429].includes(status))).toEqual([]);
      return statuses.filter((status) => status === 200).length;
    };
    expect(instances.shared()).toEqual([true, true]);
    expect(await admitted()).toBe(LIMIT);
    await promoted.command('REPLICAOF', '127.0.0.1', old.port);
    expect(await old.command('WAIT', 1, 60_000)).toBe(1);
    await promoted.command('REPLICAOF', 'NO', 'ONE');
    proxy.leadTo(urlOf(promoted));
    await old.command('REPLICAOF', '127.0.0.1', promoted.port);
    expect(instances.shared()).toEqual([true, true]);
    expect(await admitted()).toBeLessThanOrEqual(2 * LIMIT);
    const { key } = instances.apps[0]!;
    await until(async () => {
      for (const app of instances.apps) expect((await app.get('/v1/pets', { key })).status).toBe(200);
      return instances.shared().every(Boolean);
    });
    expect(await admitted()).toBe(LIMIT);
    expect(await promoted.calls('evalsha')).toBeGreaterThan(0);
    await instances.close();
    await proxy.close();
    for (const each of servers) await each.stop();
    folder.remove();
  });
});
