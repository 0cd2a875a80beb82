import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import * as fc from 'fast-check';
import { type Clock, SystemClock } from '../../src/time/clock';
import { HOUR_MS } from '../../src/time/time';
import { type Decision, type OwnerLimits, RateLimitStore } from '../../src/rate-limit/rate-limit.store';
import { createRedisClient, type RedisClient, RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { holdTimers, pass } from '../support/timers';
import { expectModel, limit, of } from './support/window-model';

const PATIENCE_MS = 60_000;
const NOON = new TestClock().now();
const OWNER = 'account:1';

describe('the windows of a store in memory', () => {
  it('admit exactly the requests of the model, for any sequence of requests, waits and limits', async () => {
    const clock = new TestClock();
    await expectModel(clock, [new RateLimitStore(clock)], 60);
  });

  it('are forgotten when they end', async () => {
    const clock = new TestClock();
    const store = new RateLimitStore(clock);
    for (let at = 0; at < 9; at += 1) await store.take(`account:${at}`, { perMinute: 1, perDay: 9 });
    await store.take('ip:192.0.2.1', { perMinute: 1 });
    clock.advance({ seconds: 60 });
    expect(store.sweep()).toBe(9);
    clock.advance({ seconds: 86_400 });
    expect(store.sweep()).toBe(0);
  });
});

/** The network of an instance. `unstable`: every other request fails; `deaf`: the responses are lost. */
type Quality = 'good' | 'failing' | 'unstable' | 'deaf';

/** Connects successfully each time. */
class Connection extends EventEmitter implements Pick<RedisClient, 'isOpen' | 'isReady' | 'take'> {
  isOpen = false;
  isReady = false;
  take: RedisClient['take'] = () => Promise.reject(new Error());

  async connect(): Promise<void> {
    await Promise.resolve();
    this.isOpen = this.isReady = true;
    this.emit('ready');
  }

  destroy(): void {
    this.isOpen = this.isReady = false;
  }
}

describeWithRedis('stores that share a Redis', () => {
  let redis: RedisServer;
  let client: RedisClient;
  let clock: TestClock;
  const stores: RedisRateLimitStore[] = [];
  beforeAll(async () => {
    Logger.overrideLogger(false);
    redis = await startRedis();
    const [, rights = ''] = /Its user needs `(.*)`/.exec(readFileSync('docs/deploy.md', 'utf8')) ?? [];
    await redis.command('ACL', 'SETUSER', 'app', 'on', '>secret', ...rights.split(' '));
    client = await createRedisClient(redis.url());
    await client.connect();
  });
  beforeEach(prepare);
  afterEach(async () => {
    jest.useRealTimers();
    // Each window ends in Redis, too.
    const [, keys, expires] =
      /keys=(\d+),expires=(\d+)/.exec(String(await redis.command('INFO', 'keyspace'))) ?? [];
    expect(keys).toBe(expires);
  });
  afterAll(async () => {
    stores.forEach((store) => store.onApplicationShutdown());
    client.destroy();
    await redis.stop();
  });

  const inRedis = (script: string) => client.eval(script, { keys: [], arguments: [] });
  const flush = () => inRedis("return redis.call('FLUSHALL')");
  async function prepare(): Promise<void> {
    for (const store of stores.splice(0)) store.onApplicationShutdown();
    await flush();
    clock = new TestClock();
  }

  async function open(connection: RedisClient, own: Clock = clock) {
    const store = new RedisRateLimitStore(own, connection, PATIENCE_MS);
    await store.onModuleInit();
    stores.push(store);
    return store;
  }

  it('admit exactly the requests of the model, with the rights of docs/deploy.md', async () => {
    const asApp = () => createRedisClient(`redis://app:secret@127.0.0.1:${redis.port}/0`);
    const both = [await open(await asApp()), await open(await asApp())];
    await expectModel(clock, both, 12);
    expect(both.map(({ isShared }) => isShared)).toEqual([true, true]);
  });

  /** Creates an instance with a connection that the spec sets. */
  async function instance(own?: Clock) {
    const network = { connection: 'good' as Quality, held: Promise.resolve() };
    let sent = 0;
    const through = async <T>(send: () => Promise<T>) => {
      sent += 1;
      const { connection } = network;
      const isLost = connection === 'failing' || (connection === 'unstable' && sent % 2 === 0);
      if (isLost) throw new Error('no connection');
      await network.held;
      const result = await send();
      if (connection === 'deaf') throw new Error('no response');
      return result;
    };
    const connection = new Connection();
    connection.take = (...asked) => through(() => client.take(...asked));
    return { network, store: await open(connection as unknown as RedisClient, own) };
  }
  type Instance = Awaited<ReturnType<typeof instance>>;

  const limited = (perMinute: number) => of(perMinute, 1_000);
  async function take({ store }: Instance, times = 1, limits = limited(100)): Promise<Decision> {
    for (let at = 1; at < times; at += 1) await store.take(OWNER, limits);
    return store.take(OWNER, limits);
  }
  /** @returns how many of concurrent requests are admitted */
  async function burst(from: Instance, count: number, limits: OwnerLimits): Promise<number> {
    const decisions = await Promise.all(Array.from({ length: count }, () => take(from, 1, limits)));
    return decisions.filter(({ verdict }) => verdict === 'admitted').length;
  }
  const left = ({ windows }: Pick<Decision, 'windows'>) => [windows.minute.remaining, windows.day?.remaining];
  /** An instance tries Redis again after a pause. */
  async function passPause(seconds: number): Promise<void> {
    pass({ seconds });
    await new Promise(setImmediate);
  }

  it('count without Redis from what it last reported, and give it back to a Redis that lost its data', async () => {
    holdTimers({ timeouts: true });
    const [a, b] = [await instance(), await instance()];
    await take(a, 10);
    expect(left(await take(b))).toEqual([89, 989]);
    b.network.connection = 'failing';
    expect(left(await take(b, 5))).toEqual([84, 984]);
    expect(left(await b.store.look(OWNER, limited(100)))).toEqual([84, 984]);
    b.network.connection = 'good';
    await flush();
    await passPause(1);
    expect(left(await take(b))).toEqual([83, 983]);
    expect(left(await take(a))).toEqual([82, 982]);
  });

  it('open a full window at its end after Redis lost its data, also if two windows overlap', async () => {
    const [a, b] = [await instance(), await instance()];
    const limits = limited(10);
    await take(a, 9, limits);
    clock.advance({ seconds: 30 });
    await flush();
    expect((await take(b, 1, limits)).windows.minute.resetAt).toBe(NOON + 90_000);
    expect(await burst(a, 30, limits)).toBe(1);
    expect((await take(a, 1, limits)).windows.minute.resetAt).toBe(NOON + 60_000);
    expect((await take(b, 1, limits)).verdict).toBe('limited');
    clock.advance({ seconds: 30 });
    expect(left(await take(a, 1, limits))).toEqual([9, 989]);
    expect(left(await take(b, 1, limits))).toEqual([8, 988]);
  });

  it.each([
    ['take', 100],
    ['take', 95],
    ['look', 95],
  ] as const)(
    'tell a Redis that lost its data of a used day by %s, so that their restart begins no new one, after %d requests',
    async (action, used) => {
      const limits = of(1_000, 100);
      const before = await instance();
      await take(before, used, limits);
      await flush();
      await before.store[action](OWNER, limits);
      const known = action === 'take' ? Math.min(100, used + 1) : used;
      const restarted = await instance();
      expect(await burst(restarted, 100, limits)).toBe(100 - known);
    },
  );

  it('reject a request that Redis admits if the day was used up locally meanwhile', async () => {
    const a = await instance();
    const limits = of(100, 3);
    await take(a, 2, limits);
    clock.advance({ seconds: 60 });
    let release = () => {};
    a.network.held = new Promise((resolve) => (release = resolve));
    const admitted = take(a, 1, limits);
    a.network.connection = 'failing';
    expect((await take(a, 1, limits)).verdict).toBe('admitted');
    release();
    expect(await admitted).toMatchObject({ verdict: 'limited', windows: { day: { remaining: 0 } } });
  });

  it.each([HOUR_MS, -HOUR_MS])('have the time of Redis if their clock is wrong by %d ms', async (aheadMs) => {
    const own = new SystemClock();
    own.now = () => Date.now() + aheadMs;
    const a = await instance(own);
    const { windows, now } = await take(a, 10, limited(10));
    expect(Math.abs(now - Date.now())).toBeLessThan(HOUR_MS / 2);
    a.network.connection = 'failing';
    expect(await take(a, 1, limited(10))).toMatchObject({ verdict: 'limited', windows });
  });

  it('never admit more than the limit each with any connections, nor all together with good ones', async () => {
    const which = fc.nat(2);
    const connection = fc.constantFrom<Quality>('good', 'failing', 'unstable', 'deaf');
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ which, atOnce: limit(8) }) },
      { weight: 3, arbitrary: fc.record({ which, connection }) },
      { weight: 1, arbitrary: fc.constant('flush' as const) },
      { weight: 1, arbitrary: fc.record({ waitSeconds: fc.nat(1) }) },
    );
    const steps = fc.array(step, { maxLength: 40 });
    holdTimers({ timeouts: true });
    const property = fc.asyncProperty(steps, limit(15), limit(15), async (all, perMinute, perDay) => {
      await prepare();
      const instances = [await instance(), await instance(), await instance()];
      const admitted = instances.map(() => 0);
      let wasGood = true;
      for (const each of all) {
        wasGood &&= each !== 'flush' && (!('connection' in each) || each.connection === 'good');
        if (each === 'flush') await flush();
        else if ('waitSeconds' in each) await passPause(each.waitSeconds);
        else if ('connection' in each) instances[each.which]!.network.connection = each.connection;
        else admitted[each.which]! += await burst(instances[each.which]!, each.atOnce, { perMinute, perDay });
      }
      const most = Math.min(perMinute, perDay);
      expect(Math.max(...admitted)).toBeLessThanOrEqual(most);
      const together = admitted.reduce((sum, count) => sum + count);
      expect(together).toBeLessThanOrEqual(wasGood ? most : 3 * most);
    });
    await fc.assert(property, { numRuns: 40 });
  });
});
