import { lookup } from 'node:dns/promises';
import { createConnection } from 'node:net';
import tls from 'node:tls';
import { type FactoryProvider, Logger } from '@nestjs/common';
import { readConfig } from '../../src/platform/config/config';
import { SystemClock } from '../../src/platform/runtime/clock';
import { RateLimitStore } from '../../src/rate-limit';
import { banPolicyOf } from '../../src/rate-limit/bans';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import { RateLimitModule } from '../../src/rate-limit/rate-limit.module';
import { RedisConnector } from '../../src/rate-limit/redis.connector';
import { RedisLink } from '../../src/rate-limit/redis.link';
import { PROBE, rulesOf } from '../../src/rate-limit/redis.script';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer } from '../support/redis';
import { until } from '../support/until';
import { RedisServers } from './support/redis-servers';

const ACCOUNTS = 8;
const LIMIT = 5;
const CONFIG = readConfig({});
const POLICY = banPolicyOf(CONFIG);
const PATIENT_MS = 10_000;
const HOUR_MS = 3_600_000;

interface Options {
  readonly timeoutMs?: number;
  readonly connectLimitMs?: number;
  readonly lookup?: ConstructorParameters<typeof RedisConnector>[1];
}

describeWithRedis('a connection to Redis', () => {
  const servers = new RedisServers();
  const opened: RedisLink[] = [];
  let warnings: string[];
  let redis: RedisServer;
  beforeAll(async () => {
    Logger.overrideLogger({ log: jest.fn(), error: jest.fn(), warn: (line: string) => warnings.push(line) });
    redis = await servers.start();
  });
  beforeEach(() => (warnings = []));
  afterEach(() => opened.splice(0).forEach((link) => link.close()));
  afterAll(() => servers.stop());

  function open(urls: readonly string[], { timeoutMs = PATIENT_MS, ...options }: Options = {}) {
    const connector = new RedisConnector(urls, options.lookup, options.connectLimitMs);
    const attempts = jest.spyOn(connector, 'connect');
    const link = new RedisLink(connector, timeoutMs, rulesOf(POLICY), 20);
    opened.push(link);
    return { link, attempts, isOpen: link.open() };
  }
  const urlOf = (server: RedisServer, access = '', path = '') =>
    `redis://${access}127.0.0.1:${server.port}${path}`;
  /** Two instances, each with a connection of its own, admit exactly the limit of each account. */
  async function expectSharing(urls: readonly string[]): Promise<void> {
    const clock = new TestClock();
    const stores = [open(urls), open(urls)].map(
      ({ link }) => new RedisRateLimitStore(link, new MemoryRateLimitStore(clock, CONFIG), POLICY, clock),
    );
    await until(() => stores.every(({ isShared }) => isShared));
    for (let account = 0; account < ACCOUNTS; account += 1) {
      const charge = { owner: `account:${account}`, limits: { perMinute: LIMIT, perDay: 100 } };
      const taken = Array.from({ length: 3 * LIMIT }, async (_, at) => stores[at % 2]!.take(charge));
      const verdicts = (await Promise.all(taken)).map(({ verdict }) => verdict);
      expect(verdicts.filter((verdict) => verdict === 'admitted')).toHaveLength(LIMIT);
    }
    expect(stores.every(({ isShared }) => isShared)).toBe(true);
  }

  it('is opened when Redis starts, with one log line for each change', async () => {
    const server = await servers.start();
    await server.kill();
    const { link, isOpen } = open([urlOf(server)]);
    await isOpen;
    expect(link.isShared).toBe(false);
    await server.start();
    await until(() => link.isShared);
    expect(warnings).toEqual([
      expect.stringContaining('Redis is unavailable (connect ECONNREFUSED'),
      'Redis is available again. The instances share their counters again.',
    ]);
  });

  it('to a frozen Redis delays neither the start nor a request for longer than its limit, and is opened again', async () => {
    const server = await servers.start();
    const { link, isOpen } = open([urlOf(server)], { timeoutMs: 50, connectLimitMs: 50 });
    await isOpen;
    server.freeze();
    const frozen = open([urlOf(server)], { connectLimitMs: 50 });
    await frozen.isOpen;
    expect(frozen.link.isShared).toBe(false);
    await expect(link.run('account:1', undefined, PROBE)).rejects.toThrow('no response within 50 ms');
    expect(link.isShared).toBe(false);
    await expect(link.run('account:1', undefined, PROBE)).rejects.toThrow('closed');
    server.thaw();
    await until(() => link.isShared && frozen.link.isShared);
    await link.run('account:1', undefined, PROBE);
  });

  it.each([
    ['a database that it lacks', '+@all', '/5000', /DB index is out of range/],
    ['EVALSHA', '+@all -evalsha', '', /NOPERM.*evalsha/],
    ['SELECT', '+@all -select', '/3', /NOPERM.*select/],
    ['writes', '+@all -@write +eval +evalsha', '', /NOPERM|can't run/],
  ])(
    'is not used while Redis rejects %s; one log line has the reason',
    async (_what, rules, path, reason) => {
      await redis.command('SCRIPT', 'FLUSH');
      const allow = (...allowed: string[]) =>
        redis.command('ACL', 'SETUSER', 'app', 'reset', 'on', '>right-secret', '~*', ...allowed);
      await allow(...rules.split(' '));
      const { link, attempts, isOpen } = open([urlOf(redis, 'app:right-secret@', path)]);
      await isOpen;
      await until(() => attempts.mock.calls.length > 2);
      expect(link.isShared).toBe(false);
      expect(warnings).toEqual([expect.stringMatching(reason)]);
      if (path === '/5000') return;
      await allow('+@all');
      await until(() => link.isShared);
      expect(warnings).toHaveLength(2);
    },
  );

  it('is not used with a wrong password, and no log line has it; a password that Redis does not need is ignored', async () => {
    const server = await servers.start('--requirepass', 'right-secret');
    const [wrong, right] = [open([urlOf(server, ':wrong-secret@')]), open([urlOf(server, ':right-secret@')])];
    const needless = open([urlOf(redis, ':needless-secret@')]);
    await Promise.all([wrong.isOpen, right.isOpen, needless.isOpen]);
    expect([wrong, right, needless].map(({ link }) => link.isShared)).toEqual([false, true, true]);
    expect(warnings).toEqual([expect.stringContaining('Redis is unavailable (WRONGPASS')]);
    expect(warnings.join()).not.toContain('-secret');
  });

  it('to a sentinel leads to its master, which gets the user, password and database of the URL', async () => {
    const master = await servers.start();
    await master.command('ACL', 'SETUSER', 'till/1', 'on', '>p@ss:1', '~*', '+@all');
    const port = await servers.startSentinel(master);
    await expectSharing([`redis://till%2F1:p%40ss%3A1@127.0.0.1:${port}/7?sentinel=store`]);
    expect(String(await master.command('INFO', 'keyspace')).match(/db\d+/g)).toEqual(['db7']);
    // One for each charge, and one probe for each instance.
    expect(await master.calls('evalsha')).toBe(ACCOUNTS * 3 * LIMIT + 2);
  });

  it('uses TLS to the sentinel and to its master with rediss://', async () => {
    const port = await servers.startSentinel(redis);
    const ports: unknown[] = [];
    // The servers have no certificate, so the bytes are sent without encryption.
    const plainly = (options: { port: number; host: string }) => {
      ports.push(options.port);
      const socket = createConnection({ port: options.port, host: options.host });
      return socket.once('connect', () => socket.emit('secureConnect'));
    };
    const connectTls = jest.spyOn(tls, 'connect').mockImplementation(plainly as never);
    const { link, isOpen } = open([`rediss://127.0.0.1:${port}?sentinel=store`]);
    await isOpen;
    await until(() => link.isShared);
    connectTls.mockRestore();
    expect(ports).toEqual(expect.arrayContaining([port, redis.port]));
  });

  it('to a cluster counts each account on one of its nodes, and is used again after an outage', async () => {
    const nodes = await servers.startCluster();
    const urls = nodes.map((node) => urlOf(node));
    await expectSharing(urls);
    const counts = await Promise.all(nodes.map((node) => node.calls('evalsha')));
    expect(counts.filter((count) => count > 0).length).toBeGreaterThan(1);
    const { link, isOpen } = open(urls, { timeoutMs: 100, connectLimitMs: 100 });
    await isOpen;
    await until(() => link.isShared);
    for (const node of nodes) node.freeze();
    await expect(link.run('account:1', undefined, PROBE)).rejects.toThrow('no response within 100 ms');
    expect(link.isShared).toBe(false);
    for (const node of nodes) node.thaw();
    await until(() => link.isShared);
  });

  it.each([
    ['one server', ['redis://a.example']],
    ['sentinels', ['redis://a.example?sentinel=store', 'redis://b.example']],
    ['a cluster', ['redis://a.example', 'redis://a.example:7000', 'redis://b.example']],
  ])(
    'to %s waits for one lookup at a time, however often it is attempted while the DNS does not respond',
    async (_, urls) => {
      const asked: string[] = [];
      const lookupHost = (host: string) => {
        asked.push(host);
        return new Promise<never>(() => undefined);
      };
      const { attempts } = open(urls, { lookup: lookupHost, connectLimitMs: 20 });
      await until(() => attempts.mock.calls.length > 3);
      expect(asked).toHaveLength(1);
    },
  );

  it('looks up the host name again for each connection', async () => {
    const asked: string[] = [];
    const lookupHost = (host: string) => {
      asked.push(host);
      return lookup('127.0.0.1', { all: true });
    };
    const { link, isOpen } = open([`redis://a.example:${redis.port}`], { lookup: lookupHost });
    await isOpen;
    expect([link.isShared, asked]).toEqual([true, ['a.example']]);
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(() => asked.length === 2 && link.isShared);
  });

  it('has the time of Redis in every instance, even if the clock of one is wrong', async () => {
    const clock = new SystemClock();
    jest.spyOn(clock, 'now').mockImplementation(() => Date.now() + HOUR_MS);
    const providers: FactoryProvider<RedisRateLimitStore>[] = Reflect.getMetadata(
      'providers',
      RateLimitModule,
    );
    const { useFactory } = providers.find(({ provide }) => provide === RateLimitStore)!;
    const config = readConfig({ REDIS_URL: urlOf(redis), REDIS_TIMEOUT_MS: String(PATIENT_MS) });
    const store = await useFactory(config, new MemoryRateLimitStore(clock, config), clock);
    await store.onModuleInit();
    expect(store.isShared).toBe(true);
    const { now } = await store.take({ owner: 'account:1', limits: { perMinute: LIMIT } });
    store.onApplicationShutdown();
    expect(now - Date.now()).toBeLessThan(HOUR_MS / 2);
  });
});
