import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Logger } from '@nestjs/common';
import { createRedisClient, RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';

const PATIENT_MS = 10_000;
const ROOMY = { perMinute: 1_000_000 };
const FULL = { perMinute: 1 };
const PASSWORD = 'right-secret';
const RESTORED = 'Redis is available again. The instances share their counters again.';

describeWithRedis('a connection to Redis', () => {
  const servers: RedisServer[] = [];
  const opened: RedisRateLimitStore[] = [];
  let warnings: string[];
  let redis: RedisServer;
  beforeAll(async () => {
    Logger.overrideLogger({ log: jest.fn(), error: jest.fn(), warn: (line: string) => warnings.push(line) });
    redis = await start();
  });
  beforeEach(() => (warnings = []));
  afterEach(() => opened.splice(0).forEach((store) => store.onApplicationShutdown()));
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });

  async function start(...settings: string[]): Promise<RedisServer> {
    const server = await startRedis(...settings);
    servers.push(server);
    return server;
  }
  async function open(url: string, timeoutMs = PATIENT_MS) {
    const store = new RedisRateLimitStore(new TestClock(), await createRedisClient(url), timeoutMs);
    opened.push(store);
    await store.onModuleInit();
    return store;
  }
  const urlOf = ({ port }: RedisServer, access = '', path = '') =>
    `redis://${access}127.0.0.1:${port}${path}`;
  const statsOf = async (command: string) =>
    new RegExp(`cmdstat_${command}:(.*)`).exec(String(await redis.command('INFO', 'commandstats')))?.[1] ??
    '';
  const logins = async () => Number(/calls=(\d+)/.exec(await statsOf('auth'))?.[1]);
  /** Gives the user `app` these rights. */
  const allow = (...rules: string[]) =>
    redis.command('ACL', 'SETUSER', 'app', 'reset', 'on', `>${PASSWORD}`, '~*', ...rules);
  /** Returns undefined if the instance decides without Redis. */
  const tryWith = (store: RedisRateLimitStore) => {
    const decision = store.take('account:1', ROOMY);
    return decision instanceof Promise ? decision : undefined;
  };
  /** Requests of the store try Redis again. */
  const untilShared = (store: RedisRateLimitStore) =>
    until(async () => {
      await store.take('account:1', ROOMY);
      return store.isShared;
    });

  it('is opened when Redis starts, and again after Redis closed it, without a request, with a log line for each change', async () => {
    const server = await start();
    await server.kill();
    const store = await open(urlOf(server));
    expect(store.isShared).toBe(false);
    await server.start();
    await until(() => store.isShared);
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(() => warnings.length === 4);
    expect(store.isShared).toBe(true);
    const lost = (reason: string) => expect.stringContaining(`Redis is unavailable (${reason}`);
    const reasons = [lost('connect ECONNREFUSED'), lost('Socket closed unexpectedly')];
    expect(warnings).toEqual([reasons[0], RESTORED, reasons[1], RESTORED]);
  });

  it('is kept alive by pings, and stays open if Redis rejects them', async () => {
    await allow('+@all', '-ping');
    const store = await open(urlOf(redis, `app:${PASSWORD}@`));
    await until(async () => /rejected_calls=[1-9]/.test(await statsOf('ping')));
    expect([store.isShared, warnings]).toEqual([true, []]);
  });

  it('to a frozen Redis delays neither the start nor a request for longer than its limit, and is opened again', async () => {
    const server = await start();
    const store = await open(urlOf(server), 50);
    server.freeze();
    const frozen = await open(urlOf(server, '', '/1'));
    await store.take('account:1', ROOMY);
    expect([frozen.isShared, store.isShared]).toEqual([false, false]);
    server.thaw();
    await untilShared(store);
    await until(() => frozen.isShared);
    const lost = [750, 50].map((ms) => `Redis is unavailable (no response within ${ms} ms)`);
    expect(warnings.slice(0, 2)).toEqual(lost.map((each) => expect.stringContaining(each)));
  });

  it('is opened again 200 ms after Redis rejected a request', async () => {
    await allow('+@all', '-evalsha');
    const store = await open(urlOf(redis, `app:${PASSWORD}@`));
    holdTimers({ timeouts: true });
    try {
      await store.take('account:1', ROOMY);
      for (let tries = 0; tries < 2; tries += 1) {
        pass({ seconds: 0.199 });
        await redis.command('PING');
        expect(tryWith(store)).toBeUndefined();
        pass({ seconds: 0.001 });
        let trying: unknown;
        await until(() => (trying = tryWith(store)) !== undefined);
        await trying;
      }
    } finally {
      jest.useRealTimers();
    }
  });

  it.each<[string, rules: string, path: string, reason: RegExp, ...changes: string[]]>([
    ['is full', '+@all', '', /OOM/, 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
    ['is read-only', '+@all', '', /READONLY/, 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
    ['lacks the database', '+@all', '/5000', /DB index is out of range/],
    ['rejects EVALSHA', '+@all -evalsha', '', /NOPERM.*evalsha/],
  ])(
    'is not taken for shared while Redis %s, also if Redis responds for a full window; one log line has the reason',
    async (_what, rules, path, reason, ...[reject, accept]) => {
      await redis.command('SCRIPT', 'FLUSH');
      await allow('+@all');
      const run = (line: string) => redis.command(...(line.split(' ') as [string, ...string[]]));
      const url = urlOf(redis, `app:${PASSWORD}@`, path);
      if (path === '') await (await open(url)).take('account:full', FULL);
      if (reject !== undefined) await run(reject);
      await allow(...rules.split(' '));
      const store = await open(url);
      await store.take('account:1', ROOMY);
      const before = await logins();
      await until(async () => {
        await store.take('account:1', ROOMY);
        return (await logins()) > before + 1;
      });
      const isConnected = () => store.look('account:full', FULL) instanceof Promise;
      if (path === '') await until(isConnected);
      await store.take('account:full', FULL);
      expect(store.isShared).toBe(false);
      expect(warnings).toEqual([expect.stringMatching(reason)]);
      if (path === '/5000') return;
      if (accept !== undefined) await run(accept);
      await allow('+@all');
      await untilShared(store);
      expect(warnings.slice(1)).toEqual([RESTORED]);
    },
  );

  it('has the user, password and database of the URL; log lines say that a password is wrong or missing, without it', async () => {
    await redis.command('ACL', 'SETUSER', 'till/1', 'on', '>p@ss:1', '~*', '+@all');
    const own = await open(urlOf(redis, 'till%2F1:p%40ss%3A1@', '/7'));
    await own.take('account:1', ROOMY);
    expect(String(await redis.command('INFO', 'keyspace'))).toContain('db7:');
    const server = await start('--requirepass', PASSWORD);
    const accesses = [':wrong-secret@', `:${PASSWORD}@`, ''];
    const stores = await Promise.all(accesses.map((access) => open(urlOf(server, access))));
    await stores[2]!.take('account:1', ROOMY);
    expect([own, ...stores].map(({ isShared }) => isShared)).toEqual([true, false, true, false]);
    const reasons = ['WRONGPASS', 'NOAUTH'];
    expect(warnings).toEqual(reasons.map((each) => expect.stringContaining(`is unavailable (${each}`)));
    expect(warnings.join()).not.toContain('-secret');
  });

  it('begins a TLS handshake with rediss://', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const store = open(`rediss://127.0.0.1:${port}`);
    const [socket] = await once(server, 'connection');
    const [bytes] = await once(socket, 'data');
    socket.destroy();
    await store;
    server.close();
    const HANDSHAKE = 0x16;
    expect(bytes[0]).toBe(HANDSHAKE);
  });
});
