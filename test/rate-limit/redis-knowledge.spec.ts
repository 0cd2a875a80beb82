import * as fc from 'fast-check';
import { type Clock, SystemClock } from '../../src/platform/runtime/clock';
import type { Decision, OwnerLimits } from '../../src/rate-limit/rate-limit.store';
import { type RedisClient, RedisConnector } from '../../src/rate-limit/redis.client';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { until } from '../support/until';

const PATIENCE_MS = 60_000;
const INSTANCES = 3;
const OWNER = 'account:1';

/** The clock of a machine without NTP. Redis has its own. */
class WrongClock extends SystemClock {
  constructor(private readonly aheadMs: number) {
    super();
  }

  override now(): number {
    return super.now() + this.aheadMs;
  }
}

/**
 * The connection of an instance to Redis. `unstable`: every other request fails; `deaf`: the responses are lost; `held`:
 * each request waits until the spec sends it.
 */
type Connection = 'good' | 'failing' | 'unstable' | 'deaf' | 'held';

describeWithRedis('the knowledge of an instance', () => {
  let redis: RedisServer;
  let client: RedisClient;
  let clock: TestClock;
  const stores: RedisRateLimitStore[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    client = await new RedisConnector(redis.url()).connect();
  });
  beforeEach(() => prepare());
  afterAll(async () => {
    client.destroy();
    await redis.stop();
  });

  async function prepare(): Promise<void> {
    for (const store of stores.splice(0)) store.onApplicationShutdown();
    await redis.command('FLUSHALL');
    clock = new TestClock();
  }

  /** Creates an instance. The spec sets its connection. */
  async function instance(own: Clock = clock) {
    const network = { connection: 'good' as Connection };
    const held: (() => void)[] = [];
    let sent = 0;
    const through = async (send: () => Promise<unknown>) => {
      sent += 1;
      const { connection } = network;
      if (connection === 'failing' || (connection === 'unstable' && sent % 2 === 0))
        throw new Error('no connection');
      if (connection === 'held') await new Promise<void>((resolve) => held.push(resolve));
      const result = await send();
      if (network.connection === 'deaf') throw new Error('no response');
      return result;
    };
    const connection: RedisClient = {
      eval: (script, input) => client.eval(script, input),
      evalSha: (sha, input) => through(() => client.evalSha(sha, input)),
      on: () => undefined,
      destroy: () => undefined,
    };
    const store = new RedisRateLimitStore(own, { connect: () => Promise.resolve(connection) }, PATIENCE_MS);
    await store.onModuleInit();
    stores.push(store);
    return { network, store, sendNext: () => held.shift()?.() };
  }

  const limited = (perMinute: number, perDay = 1_000): OwnerLimits => ({ perMinute, perDay });
  async function take(
    { store }: Pick<Awaited<ReturnType<typeof instance>>, 'store'>,
    times = 1,
    limits = limited(100),
  ): Promise<Decision> {
    for (let at = 1; at < times; at += 1) await store.take(OWNER, limits);
    return store.take(OWNER, limits);
  }
  const left = ({ windows }: Pick<Decision, 'windows'>) => [windows.minute.remaining, windows.day?.remaining];

  it('is what Redis last reported, grows by each request that it admits while Redis is unavailable, and is given back to a Redis that lost its data', async () => {
    const [a, b] = [await instance(), await instance()];
    await take(a, 10);
    expect(left(await take(b))).toEqual([89, 989]);
    b.network.connection = 'failing';
    expect(left(await take(b, 5))).toEqual([84, 984]);
    expect(left(await b.store.look(OWNER, limited(100)))).toEqual([84, 984]);
    b.network.connection = 'good';
    await redis.command('FLUSHALL');
    await until(async () => left(await take(b))[0]! < 84 && b.store.isShared);
    const [minute, day] = left(await take(b));
    expect(left(await take(a))).toEqual([minute! - 1, day! - 1]);
  });

  it('is not more than the requests that it admitted: a full window opens at its end after Redis lost its data', async () => {
    const [a, b] = [await instance(), await instance()];
    const limits = limited(10);
    await take(a, 9, limits);
    clock.advance({ seconds: 30 });
    await redis.command('FLUSHALL');
    const burst = Array.from({ length: 30 }, () => take(a, 1, limits));
    const admitted = (await Promise.all(burst)).filter(({ verdict }) => verdict === 'admitted');
    expect(admitted).toHaveLength(1);
    expect((await take(b, 1, limits)).verdict).toBe('limited');
    clock.advance({ seconds: 30 });
    expect(left(await take(a, 1, limits))).toEqual([9, 989]);
    expect(left(await take(b, 1, limits))).toEqual([8, 988]);
  });

  it('has the time of Redis, also while Redis is unavailable', async () => {
    for (const aheadMs of [600_000, -600_000]) {
      await prepare();
      const a = await instance(new WrongClock(aheadMs));
      const { windows } = await take(a, 10, limited(10));
      a.network.connection = 'failing';
      expect(await take(a, 1, limited(10))).toMatchObject({ verdict: 'limited', windows });
    }
  });

  it('has the window that began first if two overlap', async () => {
    const [a, b] = [await instance(), await instance()];
    await take(a);
    const begin = clock.now();
    await redis.command('FLUSHALL');
    clock.advance({ seconds: 20 });
    expect((await take(b)).windows.minute.resetAt).toBe(begin + 80_000);
    expect((await take(a)).windows.minute.resetAt).toBe(begin + 60_000);
    clock.advance({ seconds: 40 });
    expect(left(await take(a))).toEqual([97, 997]);
  });

  it('rejects a request that Redis admits if the day was used up locally meanwhile', async () => {
    const a = await instance();
    const limits = limited(100, 3);
    await take(a, 2, limits);
    clock.advance({ seconds: 60 });
    a.network.connection = 'held';
    const admitted = take(a, 1, limits);
    a.network.connection = 'failing';
    expect((await take(a, 1, limits)).verdict).toBe('admitted');
    a.sendNext();
    expect(await admitted).toMatchObject({ verdict: 'limited', windows: { day: { remaining: 0 } } });
  });

  it('never lets an instance admit more than the limit with any connection, nor all together with good connections', async () => {
    const which = fc.integer({ min: 0, max: INSTANCES - 1 });
    const connection = fc.constantFrom<Connection>('good', 'failing', 'unstable', 'deaf');
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ which, atOnce: fc.integer({ min: 1, max: 8 }) }) },
      { weight: 3, arbitrary: fc.record({ which, connection }) },
      { weight: 1, arbitrary: fc.constant('flush' as const) },
      { weight: 1, arbitrary: fc.record({ waitMs: fc.integer({ min: 1, max: 1_500 }) }) },
    );
    const limit = fc.integer({ min: 1, max: 15 });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), limit, limit, async (steps, perMinute, perDay) => {
        await prepare();
        const instances = [await instance(), await instance(), await instance()];
        const admitted = instances.map(() => 0);
        let wasGood = true;
        for (const each of steps) {
          if (each === 'flush') {
            await redis.command('FLUSHALL');
            wasGood = false;
          } else if ('waitMs' in each) clock.advance({ seconds: each.waitMs / 1_000 });
          else if ('connection' in each) {
            instances[each.which]!.network.connection = each.connection;
            wasGood &&= each.connection === 'good';
          } else {
            const asked = Array.from({ length: each.atOnce }, async () =>
              instances[each.which]!.store.take(OWNER, limited(perMinute, perDay)),
            );
            const decisions = await Promise.all(asked);
            admitted[each.which]! += decisions.filter(({ verdict }) => verdict === 'admitted').length;
          }
        }
        const most = Math.min(perMinute, perDay);
        for (const count of admitted) expect(count).toBeLessThanOrEqual(most);
        const together = admitted.reduce((sum, count) => sum + count);
        expect(together).toBeLessThanOrEqual(wasGood ? most : INSTANCES * most);
      }),
      { numRuns: 40, seed: 31 },
    );
  });
});
