import { once } from 'node:events';
import net, { createConnection } from 'node:net';
import tls from 'node:tls';
import { Logger } from '@nestjs/common';
import { type Clock, SystemClock } from '../../src/platform/runtime/clock';
import { RedisConnector } from '../../src/rate-limit/redis.client';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { holdTimers, pass } from '../support/timers';
import { until } from '../support/until';

const LIMIT = 5;
const PATIENT_MS = 10_000;
const HOUR_MS = 3_600_000;
const ROOMY = { perMinute: 1_000_000 };

interface Options {
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

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
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  async function start(...settings: string[]): Promise<RedisServer> {
    const server = await startRedis(...settings);
    servers.push(server);
    return server;
  }

  async function open(url: string, { timeoutMs = PATIENT_MS, clock = new TestClock() }: Options = {}) {
    const store = new RedisRateLimitStore(clock, new RedisConnector(url), timeoutMs);
    opened.push(store);
    await store.onModuleInit();
    return store;
  }
  const urlOf = (server: RedisServer, access = '', path = '') =>
    `redis://${access}127.0.0.1:${server.port}${path}`;
  /** A request tries, and Redis is used again if it succeeds. */
  const untilShared = (store: RedisRateLimitStore) =>
    until(async () => {
      await store.take('account:1', ROOMY);
      return store.isShared;
    });

  it('is opened when Redis starts, with one log line for each change', async () => {
    const server = await start();
    await server.kill();
    const store = await open(urlOf(server));
    expect(store.isShared).toBe(false);
    await server.start();
    await untilShared(store);
    expect(warnings).toEqual([
      expect.stringContaining('Redis is unavailable (connect ECONNREFUSED'),
      'Redis is available again. The instances share their counters again.',
    ]);
  });

  it('that Redis closed is opened again, before a request fails', async () => {
    const server = await start();
    const store = await open(urlOf(server));
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(() => !store.isShared);
    await untilShared(store);
    expect(warnings).toEqual([
      expect.stringContaining('Redis is unavailable (Socket closed unexpectedly)'),
      'Redis is available again. The instances share their counters again.',
    ]);
  });

  it('stays open, without a log line, although Redis closes idle connections', async () => {
    const server = await start('--timeout', '5');
    const clock = new TestClock();
    const stores = [await open(urlOf(server), { clock }), await open(urlOf(server), { clock })];
    const limits = { perMinute: LIMIT };
    for (const store of stores) await store.take('account:1', limits);
    const idle = createConnection(server.port, '127.0.0.1').resume();
    await once(idle, 'close');
    expect(stores.map(({ isShared }) => isShared)).toEqual([true, true]);
    const taken = [];
    for (let at = 0; at < 2 * LIMIT; at += 1) taken.push(await stores[at % 2]!.take('account:1', limits));
    expect(taken.filter(({ verdict }) => verdict === 'admitted')).toHaveLength(LIMIT - 2);
    expect(warnings).toEqual([]);
  });

  it('stays open if Redis rejects the pings that keep it alive', async () => {
    const rules = ['reset', 'on', '>right-secret', '~*', '+@all', '-ping'];
    await redis.command('ACL', 'SETUSER', 'app', ...rules);
    const store = await open(urlOf(redis, 'app:right-secret@'));
    const rejected = async () =>
      /cmdstat_ping:.*rejected_calls=[1-9]/.test(String(await redis.command('INFO', 'commandstats')));
    await until(rejected);
    expect(store.isShared).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('to a frozen Redis delays neither the start nor a request for longer than its limit, and is opened again', async () => {
    const server = await start();
    const store = await open(urlOf(server), { timeoutMs: 50 });
    server.freeze();
    const frozen = await open(urlOf(server, 'app:secret@'));
    expect(frozen.isShared).toBe(false);
    await Promise.all([store.take('account:1', ROOMY), store.take('account:2', ROOMY)]);
    expect(store.isShared).toBe(false);
    // The first may try a new connection.
    expect([1, 2].map(() => store.take('account:1', ROOMY))[1]).not.toBeInstanceOf(Promise);
    server.thaw();
    await untilShared(store);
    expect(warnings).toContainEqual(
      expect.stringContaining('Redis is unavailable (no response within 50 ms)'),
    );
  });

  it('is tried by one request every 200 ms while Redis fails', async () => {
    const server = await start();
    const store = await open(urlOf(server));
    await server.command('CONFIG', 'SET', 'maxmemory', 1);
    holdTimers({ timeouts: true });
    try {
      await store.take('account:1', ROOMY);
      const asked = () =>
        Array.from({ length: 10 }, () => store.take('account:1', ROOMY)).filter(
          (decision) => decision instanceof Promise,
        );
      for (let tries = 0; tries < 3; tries += 1) {
        pass({ seconds: 0.199 });
        expect(asked()).toEqual([]);
        pass({ seconds: 0.001 });
        let trying: unknown[] = [];
        await until(() => (trying = asked()).length > 0);
        expect(trying).toHaveLength(1);
        await Promise.all(trying);
      }
    } finally {
      jest.useRealTimers();
    }
  });

  it.each<[string, reject: (string | number)[], accept: (string | number)[]]>([
    ['full', ['CONFIG', 'SET', 'maxmemory', 1], ['CONFIG', 'SET', 'maxmemory', 0]],
    ['read-only', ['REPLICAOF', '127.0.0.1', 1], ['REPLICAOF', 'NO', 'ONE']],
  ])(
    'is not used while Redis is %s, also if each try is for a full window',
    async (_what, reject, accept) => {
      const server = await start();
      const store = await open(urlOf(server));
      const full = { perMinute: 1 };
      await store.take('account:full', full);
      const run = ([name = '', ...rest]: (string | number)[]) => server.command(String(name), ...rest);
      await run(reject);
      await store.take('account:1', ROOMY);
      const attempts = jest.spyOn(net, 'createConnection');
      await until(async () => {
        expect((await store.take('account:full', full)).verdict).toBe('limited');
        return attempts.mock.calls.length > 3;
      });
      attempts.mockRestore();
      expect(store.isShared).toBe(false);
      expect(warnings).toHaveLength(1);
      await run(accept);
      await untilShared(store);
    },
  );

  it.each([
    ['a database that it lacks', '+@all', '/5000', /DB index is out of range/],
    ['EVALSHA', '+@all -evalsha', '', /NOPERM.*evalsha/],
    ['SELECT', '+@all -select', '/3', /NOPERM.*select/],
    ['writes', '+@all -@write +eval +evalsha', '', /has no permissions|can't run/],
  ])(
    'is not used while Redis rejects %s; one log line has the reason',
    async (_what, rules, path, reason) => {
      await redis.command('SCRIPT', 'FLUSH');
      const allow = (...allowed: string[]) =>
        redis.command('ACL', 'SETUSER', 'app', 'reset', 'on', '>right-secret', '~*', ...allowed);
      await allow(...rules.split(' '));
      const attempts = jest.spyOn(net, 'createConnection');
      const store = await open(urlOf(redis, 'app:right-secret@', path));
      await until(async () => {
        await store.take('account:1', ROOMY);
        return attempts.mock.calls.length > 3;
      });
      attempts.mockRestore();
      expect(store.isShared).toBe(false);
      expect(warnings).toEqual([expect.stringMatching(reason)]);
      if (path === '/5000') return;
      await allow('+@all');
      await untilShared(store);
      expect(warnings).toHaveLength(2);
    },
  );

  it('is not used with a wrong password, or none; log lines say so without it', async () => {
    const server = await start('--requirepass', 'right-secret');
    const logins = [':wrong-secret@', ':right-secret@', ''];
    const stores = await Promise.all(logins.map((login) => open(urlOf(server, login))));
    await stores[2]!.take('account:1', ROOMY);
    expect(stores.map(({ isShared }) => isShared)).toEqual([false, true, false]);
    const reasons = ['WRONGPASS', 'NOAUTH: put its password into REDIS_URL'];
    expect(warnings).toEqual(reasons.map((each) => expect.stringContaining(`is unavailable (${each}`)));
    expect(warnings.join()).not.toContain('-secret');
  });

  it('has the user, password and database of the URL', async () => {
    const server = await start();
    await server.command('ACL', 'SETUSER', 'till/1', 'on', '>p@ss:1', '~*', '+@all');
    const store = await open(urlOf(server, 'till%2F1:p%40ss%3A1@', '/7'));
    await store.take('account:1', ROOMY);
    expect(store.isShared).toBe(true);
    expect(String(await server.command('INFO', 'keyspace')).match(/db\d+/g)).toEqual(['db7']);
  });

  it('uses TLS with rediss://', async () => {
    // The server has no certificate, so the bytes are sent without encryption.
    const plainly = (options: { port: number; host: string }) => {
      const socket = createConnection({ port: options.port, host: options.host });
      return socket.once('connect', () => socket.emit('secureConnect'));
    };
    const connectTls = jest.spyOn(tls, 'connect').mockImplementation(plainly as never);
    const store = await open(urlOf(redis).replace('redis:', 'rediss:'));
    expect([store.isShared, connectTls.mock.calls.length]).toEqual([true, 1]);
    connectTls.mockRestore();
  });

  it('has the time of Redis in every instance, even if the clock of one is wrong', async () => {
    const clock = new SystemClock();
    jest.spyOn(clock, 'now').mockImplementation(() => Date.now() + HOUR_MS);
    const store = await open(urlOf(redis), { clock });
    expect((await store.take('account:1', ROOMY)).now - Date.now()).toBeLessThan(HOUR_MS / 2);
  });
});
