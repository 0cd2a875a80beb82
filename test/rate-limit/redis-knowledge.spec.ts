import * as fc from 'fast-check';
import { readConfig } from '../../src/config/config';
import { banPolicyOf } from '../../src/rate-limit/bans';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import type { Charge, Decision } from '../../src/rate-limit/rate-limit.store';
import { createRedisClient } from '../../src/rate-limit/redis.client';
import { RedisLink } from '../../src/rate-limit/redis.link';
import { rulesOf, type ScriptCharge } from '../../src/rate-limit/redis.script';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';

const CONFIG = readConfig({ RATE_LIMIT_BAN_AFTER: '1', RATE_LIMIT_BAN_SECONDS: '300' });
const PATIENCE_MS = 5_000;
const INSTANCES = 3;

/** What happens to the charges of an instance: nothing; all or every other one fails; their answers are lost. */
type Weather = 'fine' | 'away' | 'failing' | 'patchy' | 'deaf';

describeWithRedis('what an instance knows', () => {
  let redis: RedisServer;
  let link: RedisLink;
  let clock: TestClock;
  beforeAll(async () => {
    redis = await startRedis();
    link = new RedisLink(createRedisClient([redis.url()]), PATIENCE_MS, rulesOf(banPolicyOf(CONFIG)));
    await link.open();
  });
  afterAll(async () => {
    link.close();
    await redis.stop();
  });
  beforeEach(() => prepare());

  async function prepare(): Promise<void> {
    await redis.command('FLUSHALL');
    clock = new TestClock();
  }

  /** An instance whose weather the spec makes. */
  function instance() {
    const sky = { weather: 'fine' as Weather };
    let sent = 0;
    const stormy = {
      get isShared() {
        return sky.weather !== 'away';
      },
      run: async (owner: string, keyId: string | undefined, charge: ScriptCharge) => {
        sent += 1;
        if (sky.weather === 'failing' || (sky.weather === 'patchy' && sent % 2 === 0))
          throw new Error('no connection');
        const answer = await link.run(owner, keyId, charge);
        if (sky.weather === 'deaf') throw new Error('no answer');
        return answer;
      },
      open: () => Promise.resolve(),
      close: () => undefined,
    };
    const local = new MemoryRateLimitStore(clock, CONFIG);
    const store = new RedisRateLimitStore(stormy, local, banPolicyOf(CONFIG), clock);
    return { sky, store };
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
  const left = ({ windows }: Decision) => [windows.minute.remaining, windows.day?.remaining];

  it('what was admitted alone is counted when Redis is back, by every instance, once', async () => {
    const [a, b] = [instance(), instance()];
    await take(a, 10);
    a.sky.weather = b.sky.weather = 'away';
    await take(a, 5);
    await take(b, 7);
    a.sky.weather = b.sky.weather = 'fine';
    expect(left(await take(a))).toEqual([84, 984]);
    expect(left(await take(b))).toEqual([76, 976]);
    expect(left(await take(a))).toEqual([75, 975]);
    expect(left(await take(b))).toEqual([74, 974]);
  });

  it('a report that was counted, but not answered, is not counted again', async () => {
    const [a, b] = [instance(), instance()];
    a.sky.weather = 'away';
    await take(a, 20);
    a.sky.weather = 'deaf';
    // It is counted in Redis, and once more by the instance, which cannot know.
    expect(left(await take(a))).toEqual([79, 979]);
    a.sky.weather = 'fine';
    expect(left(await take(a))).toEqual([77, 977]);
    expect(left(await take(b))).toEqual([76, 976]);
  });

  it('what Redis lost it is told again by whoever knew it', async () => {
    const [a, b] = [instance(), instance()];
    await take(b, 3);
    await take(a, 10);
    await redis.command('FLUSHALL');
    expect(left(await take(b))).toEqual([96, 996]);
    expect(left(await take(a))).toEqual([86, 986]);
    expect(left(await take(b))).toEqual([85, 985]);
  });

  it('refused requests tell it too', async () => {
    const [a, b] = [instance(), instance()];
    await take(a, 5, charge(5));
    await redis.command('FLUSHALL');
    expect((await take(a, 1, charge(5))).verdict).toBe('limited');
    expect((await take(b, 1, charge(5))).verdict).toBe('limited');
  });

  it('the window that began first is the true one', async () => {
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

  it('a ban that it knows is forgotten by no FLUSHALL, and one that began alone reaches the others', async () => {
    const [a, b, c] = [instance(), instance(), instance()];
    const key = { id: 'key', unbannedAt: 0 };
    const asked = { ...charge(1), key };
    a.sky.weather = 'away';
    await take(a, 2, asked);
    clock.advance({ seconds: 2 });
    expect(await take(a, 1, asked)).toMatchObject({ verdict: 'banned', beganBan: true });
    const end = clock.now() + 300_000;
    expect((await take(b, 1, asked)).verdict).toBe('admitted');
    a.sky.weather = 'fine';
    for (const each of [a, b]) expect(await take(each, 1, asked)).toMatchObject({ bannedUntil: end });
    await redis.command('FLUSHALL');
    for (const each of [b, c]) expect(await take(each, 1, asked)).toMatchObject({ bannedUntil: end });
    const lifted = { ...asked, key: { ...key, unbannedAt: clock.now() } };
    clock.advance({ seconds: 60 });
    expect((await take(c, 1, lifted)).verdict).not.toBe('banned');
    // One that has not learnt of that yet brings the ban back, for itself alone.
    expect((await take(b, 1, asked)).verdict).toBe('banned');
    for (const each of [c, a, b]) expect((await take(each, 1, lifted)).verdict).not.toBe('banned');
  });

  it('whatever becomes of Redis, no instance admits more than the limit, and in fine weather all together do not', async () => {
    const which = fc.integer({ min: 0, max: INSTANCES - 1 });
    const weather = fc.constantFrom<Weather>('fine', 'away', 'failing', 'patchy', 'deaf');
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ which, atOnce: fc.integer({ min: 1, max: 8 }) }) },
      { weight: 3, arbitrary: fc.record({ which, weather }) },
      { weight: 1, arbitrary: fc.constant('flush' as const) },
      { weight: 1, arbitrary: fc.record({ waitMs: fc.integer({ min: 1, max: 1_500 }) }) },
    );
    const limit = fc.integer({ min: 1, max: 15 });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), limit, limit, async (steps, perMinute, perDay) => {
        await prepare();
        const instances = Array.from({ length: INSTANCES }, instance);
        const admitted = instances.map(() => 0);
        let wasFine = true;
        for (const each of steps) {
          if (each === 'flush') {
            await redis.command('FLUSHALL');
            wasFine = false;
          } else if ('waitMs' in each) clock.advance({ seconds: each.waitMs / 1_000 });
          else if ('weather' in each) {
            instances[each.which]!.sky.weather = each.weather;
            wasFine &&= each.weather === 'fine';
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
        expect(together).toBeLessThanOrEqual(wasFine ? most : INSTANCES * most);
      }),
      { numRuns: 300 },
    );
  });
});
