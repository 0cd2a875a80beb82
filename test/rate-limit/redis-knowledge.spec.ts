import * as fc from 'fast-check';
import { readConfig } from '../../src/platform/config/config';
import { banPolicyOf } from '../../src/rate-limit/bans';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import type { Charge, Decision } from '../../src/rate-limit/rate-limit.store';
import { RedisConnector } from '../../src/rate-limit/redis.connector';
import { RedisLink } from '../../src/rate-limit/redis.link';
import { rulesOf, type ScriptCharge } from '../../src/rate-limit/redis.script';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';

const CONFIG = readConfig({ RATE_LIMIT_BAN_AFTER: '1', RATE_LIMIT_BAN_SECONDS: '300' });
const PATIENCE_MS = 5_000;
const INSTANCES = 3;

/**
 * The connection of an instance to Redis. `unstable`: every other charge fails; `deaf`: the responses are lost; `held`:
 * each charge waits until the spec sends it.
 */
type Connection = 'good' | 'none' | 'failing' | 'unstable' | 'deaf' | 'held';

describeWithRedis('the knowledge of an instance', () => {
  let redis: RedisServer;
  let realLink: RedisLink;
  let clock: TestClock;
  beforeAll(async () => {
    redis = await startRedis();
    const connector = new RedisConnector([redis.url()]);
    realLink = new RedisLink(connector, PATIENCE_MS, rulesOf(banPolicyOf(CONFIG)));
    await realLink.open();
  });
  afterAll(async () => {
    realLink.close();
    await redis.stop();
  });
  beforeEach(() => prepare());

  async function prepare(): Promise<void> {
    await redis.command('FLUSHALL');
    clock = new TestClock();
  }

  /** Creates an instance. The spec sets its connection. */
  function instance() {
    const network = { connection: 'good' as Connection };
    const held: (() => void)[] = [];
    let sent = 0;
    const link = {
      get isShared() {
        return network.connection !== 'none';
      },
      run: async (owner: string, keyId: string | undefined, charge: ScriptCharge) => {
        sent += 1;
        const { connection } = network;
        if (connection === 'failing' || (connection === 'unstable' && sent % 2 === 0))
          throw new Error('no connection');
        if (connection === 'held') await new Promise<void>((resolve) => held.push(resolve));
        const result = await realLink.run(owner, keyId, charge);
        if (network.connection === 'deaf') throw new Error('no response');
        return result;
      },
      open: () => Promise.resolve(),
      close: () => undefined,
    };
    const local = new MemoryRateLimitStore(clock, CONFIG);
    const store = new RedisRateLimitStore(link, local, banPolicyOf(CONFIG), clock);
    return { network, store, sendNext: () => held.shift()?.() };
  }
  type Instance = ReturnType<typeof instance>;

  const charge = (perMinute: number, perDay = 1_000): Charge => ({
    owner: 'account:1',
    limits: { perMinute, perDay },
  });
  async function take({ store }: Instance, times = 1, asked = charge(100)): Promise<Decision> {
    for (let at = 1; at < times; at += 1) await store.take(asked);
    return store.take(asked);
  }
  const left = ({ windows }: Pick<Decision, 'windows'>) => [windows.minute.remaining, windows.day?.remaining];

  it('requests that were admitted locally are counted once, for every instance, when Redis returns', async () => {
    const [a, b] = [instance(), instance()];
    await take(a, 10);
    a.network.connection = b.network.connection = 'none';
    await take(a, 5);
    await take(b, 7);
    a.network.connection = b.network.connection = 'good';
    expect(left(await take(a))).toEqual([84, 984]);
    expect(left(await take(b))).toEqual([76, 976]);
    expect(left(await take(a))).toEqual([75, 975]);
    expect(left(await take(b))).toEqual([74, 974]);
  });

  it('a report is not counted again if Redis counted it but its response was lost; a read shows what is known', async () => {
    const [a, b] = [instance(), instance()];
    a.network.connection = 'none';
    await take(a, 20);
    a.network.connection = 'deaf';
    // Redis counts the request, and the instance, which got no response, counts it again.
    expect(left(await take(a))).toEqual([79, 979]);
    expect(left(await a.store.read(charge(100)))).toEqual([79, 979]);
    a.network.connection = 'good';
    expect(left(await take(a))).toEqual([77, 977]);
    expect(left(await take(b))).toEqual([76, 976]);
  });

  it('the window that began first counts if two overlap', async () => {
    const [a, b] = [instance(), instance()];
    await take(a);
    const begin = clock.now();
    await redis.command('FLUSHALL');
    clock.advance({ seconds: 20 });
    expect((await take(b)).windows.minute.resetAt).toBe(begin + 80_000);
    expect((await take(a)).windows.minute.resetAt).toBe(begin + 60_000);
    expect((await take(b)).windows.minute.resetAt).toBe(begin + 60_000);
    clock.advance({ seconds: 40 });
    expect(left(await take(b))).toEqual([99, 996]);
    expect(left(await take(a))).toEqual([98, 995]);
  });

  it('rejects a request that Redis admits if the day was used up locally meanwhile', async () => {
    const a = instance();
    const asked = charge(100, 3);
    await take(a, 2, asked);
    clock.advance({ seconds: 60 });
    a.network.connection = 'held';
    const admitted = take(a, 1, asked);
    a.network.connection = 'none';
    expect((await take(a, 1, asked)).verdict).toBe('admitted');
    a.sendNext();
    expect(await admitted).toMatchObject({ verdict: 'limited', windows: { day: { remaining: 0 } } });
  });

  it('keeps a ban that began locally if the response to an earlier request arrives later', async () => {
    const a = instance();
    const asked = { ...charge(1), key: { id: 'key', unbannedAt: 0 } };
    a.network.connection = 'none';
    await take(a, 2, asked);
    a.network.connection = 'held';
    const sentBefore = take(a, 1, asked);
    a.network.connection = 'none';
    clock.advance({ seconds: 2 });
    expect(await take(a, 1, asked)).toMatchObject({ verdict: 'banned', beganBan: true });
    a.sendNext();
    expect((await sentBefore).verdict).toBe('limited');
    expect((await take(a, 1, asked)).verdict).toBe('banned');
  });

  it('a known ban survives FLUSHALL, and a ban that began locally reaches the other instances', async () => {
    const [a, b, c] = [instance(), instance(), instance()];
    const key = { id: 'key', unbannedAt: 0 };
    const asked = { ...charge(1), key };
    a.network.connection = 'none';
    await take(a, 2, asked);
    clock.advance({ seconds: 2 });
    expect(await take(a, 1, asked)).toMatchObject({ verdict: 'banned', beganBan: true });
    const end = clock.now() + 300_000;
    expect((await take(b, 1, asked)).verdict).toBe('admitted');
    a.network.connection = 'good';
    for (const each of [a, b]) expect(await take(each, 1, asked)).toMatchObject({ bannedUntil: end });
    await redis.command('FLUSHALL');
    for (const each of [b, c]) expect(await take(each, 1, asked)).toMatchObject({ bannedUntil: end });
    const lifted = { ...asked, key: { ...key, unbannedAt: clock.now() } };
    clock.advance({ seconds: 60 });
    expect((await take(c, 1, lifted)).verdict).not.toBe('banned');
    // An instance that has not yet learnt of the unban restores the ban, only for itself.
    expect((await take(b, 1, asked)).verdict).toBe('banned');
    for (const each of [c, a, b]) expect((await take(each, 1, lifted)).verdict).not.toBe('banned');
  });

  it('no instance admits more than the limit with any connection, nor do all together with good connections', async () => {
    const which = fc.integer({ min: 0, max: INSTANCES - 1 });
    const connection = fc.constantFrom<Connection>('good', 'none', 'failing', 'unstable', 'deaf');
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
        const instances = Array.from({ length: INSTANCES }, instance);
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
              instances[each.which]!.store.take(charge(perMinute, perDay)),
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
