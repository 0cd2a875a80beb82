import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/platform/runtime/time';
import { type OwnerLimits, RateLimitStore } from '../../src/rate-limit/rate-limit.store';
import { RedisConnector } from '../../src/rate-limit/redis.client';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';

const LENGTHS_MS = [1, MINUTE_MS, 366 * 24 * HOUR_MS];
const DAY_MS = 24 * HOUR_MS;
const ROUTE = 'account:1:route';
const PATIENCE_MS = 10_000;
const WITHOUT_EXPIRY = `
  redis.call('SELECT', 1)
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    if redis.call('PTTL', key) == -1 then table.insert(found, key) end
  end
  return found`;

describe('windows of the store in memory', () => {
  declareWindows((clock) => new RateLimitStore(clock), 100);

  it('end with their owner: the store forgets it', async () => {
    const clock = new TestClock();
    const store = new RateLimitStore(clock);
    for (let at = 0; at < 1_000; at += 1) {
      await store.take(`account:${at}`, { perMinute: 1, perDay: 9 });
      await store.take(`ip:${at}`, { perMinute: 1 });
    }
    expect(store.sweep()).toBe(2_000);
    clock.advance({ seconds: 60 });
    expect(store.sweep()).toBe(1_000);
    clock.advance({ seconds: 86_400 });
    expect(store.sweep()).toBe(0);
  });
});

describeWithRedis('windows of the store in Redis', () => {
  let redis: RedisServer;
  const stores: RedisRateLimitStore[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    const [, rights = ''] = /Its user needs `(.*)`/.exec(readFileSync('docs/deploy.md', 'utf8')) ?? [];
    await redis.command('ACL', 'SETUSER', 'app', 'on', '>secret', ...rights.split(' '));
  });
  beforeEach(async () => {
    await redis.command('SCRIPT', 'FLUSH');
    await redis.command('FLUSHALL');
  });
  afterEach(async () => {
    expect(await redis.command('EVAL', WITHOUT_EXPIRY, 0)).toEqual([]);
    for (const store of stores.splice(0)) {
      expect(store.isShared).toBe(true);
      store.onApplicationShutdown();
    }
  });
  afterAll(() => redis.stop());

  async function open(clock = new TestClock()): Promise<RedisRateLimitStore> {
    const url = `redis://app:secret@127.0.0.1:${redis.port}/1`;
    const store = new RedisRateLimitStore(clock, new RedisConnector(url), PATIENCE_MS);
    stores.push(store);
    await store.onModuleInit();
    return store;
  }

  declareWindows(async (clock) => {
    await redis.command('FLUSHALL');
    return open(clock);
  }, 15);

  it('begin anew if their key has a value of another type', async () => {
    await redis.command('SET', 'animal-store:{account:1}:minute', 'text');
    await redis.command('MOVE', 'animal-store:{account:1}:minute', 1);
    const store = await open();
    const { windows } = await store.take('account:1', { perMinute: 5 });
    expect(windows.minute.remaining).toBe(4);
  });
});

/** Declares the rules that all stores have in common. */
function declareWindows(
  createStore: (clock: TestClock) => RateLimitStore | Promise<RateLimitStore>,
  numRuns: number,
): void {
  async function create() {
    const clock = new TestClock();
    const store = await createStore(clock);
    const take = async (limits: OwnerLimits, owner = 'account:1') => store.take(owner, limits);
    return { clock, store, take };
  }

  it('a window does not become longer if the clock is set back, and admits no more than the limit', async () => {
    const { clock, take } = await create();
    const own = { perMinute: 3, perDay: 100 };
    await take(own);
    clock.advance({ seconds: -3_600 });
    const { windows } = await take(own);
    expect(windows.minute).toEqual({ limit: 3, remaining: 1, resetAt: clock.now() + 60_000 });
    await take(own);
    expect((await take(own)).verdict).toBe('limited');
    clock.advance({ seconds: 60 });
    expect((await take(own)).verdict).toBe('admitted');
  });

  it('a full window ends within its length if the clock is set back', async () => {
    const { clock, take } = await create();
    const own = { perMinute: 1, perDay: 100 };
    const verdict = async () => (await take(own)).verdict;
    await take(own);
    clock.advance({ seconds: -3_600 });
    expect(await verdict()).toBe('limited');
    clock.advance({ seconds: 59 });
    expect(await verdict()).toBe('limited');
    clock.advance({ seconds: 1 });
    expect(await verdict()).toBe('admitted');
  });

  it('a smaller limit applies immediately, keeps the counted requests, and never makes Remaining negative', async () => {
    const { take } = await create();
    for (let at = 0; at < 5; at += 1) await take({ perMinute: 9, perDay: 100 });
    const rejected = await take({ perMinute: 3, perDay: 4 });
    expect(rejected.verdict).toBe('limited');
    expect([rejected.windows.minute.remaining, rejected.windows.day?.remaining]).toEqual([0, 0]);
    const { windows } = await take({ perMinute: 20, perDay: 100 });
    expect([windows.minute.remaining, windows.day?.remaining]).toEqual([14, 94]);
  });

  it('peek counts nothing, and shows a window that has not begun as one that begins now', async () => {
    const { clock, store } = await create();
    const limits = { perMinute: 2, windowMs: HOUR_MS };
    const whole = { limit: 2, remaining: 2, resetAt: clock.now() + HOUR_MS };
    for (let at = 0; at < 2; at += 1) expect(store.peek(ROUTE, limits).minute).toEqual(whole);
    await store.take(ROUTE, limits);
    expect(store.peek(ROUTE, limits).minute).toEqual({ ...whole, remaining: 1 });
  });

  it('any sequence of requests, waits and plans admits exactly as many requests as the model', async () => {
    const step = fc.record({
      waitMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(90_000), fc.nat(100_000_000)),
      owner: fc.constantFrom('account:1', 'account:2', 'ip:192.0.2.1'),
      perMinute: fc.integer({ min: 1, max: 12 }),
      perDay: fc.integer({ min: 1, max: 30 }),
      times: fc.integer({ min: 1, max: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { take, clock, store } = await create();
        const models = new Map<string, WindowModel>();
        for (const { waitMs, owner, perMinute, perDay, times } of steps) {
          clock.advance({ seconds: waitMs / SECOND_MS });
          const model = models.get(owner) ?? new WindowModel();
          models.set(owner, model);
          const asked: OwnerLimits = owner.startsWith('ip:') ? { perMinute } : { perMinute, perDay };
          for (let at = 0; at < times; at += 1) {
            const { verdict, windows } = await take(asked, owner);
            expect({ verdict, ...windows }).toEqual(model.take(clock.now(), perMinute, asked.perDay));
          }
          const { minute } = (await store.look(owner, asked)).windows;
          expect(minute).toEqual(store.peek(owner, asked).minute);
        }
      }),
      { numRuns },
    );
  });

  it.each(LENGTHS_MS)(
    'a window of %d ms begins with its first request, admits the limit, and ends after this time',
    async (windowMs) => {
      const { clock, take: takeWith } = await create();
      const resetAt = clock.now() + windowMs;
      const take = async () => {
        const { verdict, windows } = await takeWith({ perMinute: 2, windowMs });
        return { verdict, ...windows.minute };
      };
      expect(await take()).toEqual({ verdict: 'admitted', limit: 2, remaining: 1, resetAt });
      expect(await take()).toEqual({ verdict: 'admitted', limit: 2, remaining: 0, resetAt });
      clock.advance({ seconds: (windowMs - 1) / SECOND_MS });
      expect(await take()).toEqual({ verdict: 'limited', limit: 2, remaining: 0, resetAt });
      clock.advance({ seconds: 0.001 });
      expect(await take()).toMatchObject({ verdict: 'admitted', remaining: 1 });
    },
  );

  it('a window that has begun becomes shorter with its length, but never longer', async () => {
    const { clock, take } = await create();
    const lengthAt = async (windowMs: number) => {
      const { windows } = await take({ perMinute: 9, windowMs });
      return windows.minute.resetAt - clock.now();
    };
    expect(await lengthAt(HOUR_MS)).toBe(HOUR_MS);
    expect(await lengthAt(MINUTE_MS)).toBe(MINUTE_MS);
    expect(await lengthAt(HOUR_MS)).toBe(MINUTE_MS);
  });
}

/** A simple model of the windows of one owner. */
class WindowModel {
  private minute = { begin: -Infinity, used: 0 };
  private readonly days = new Map<number, number>();

  take(now: number, perMinute: number, perDay: number | undefined) {
    const isCurrent = now < this.minute.begin + MINUTE_MS;
    const minute = isCurrent ? this.minute : { begin: now, used: 0 };
    const today = Math.floor(now / DAY_MS);
    const usedToday = this.days.get(today) ?? 0;
    const isAdmitted = minute.used < perMinute && (perDay === undefined || usedToday < perDay);
    const counted = isAdmitted ? 1 : 0;
    // A window begins with an admitted request.
    if (isAdmitted) this.minute = { begin: minute.begin, used: minute.used + 1 };
    if (perDay !== undefined) this.days.set(today, usedToday + counted);
    return {
      verdict: isAdmitted ? 'admitted' : 'limited',
      minute: windowOf(perMinute, minute.used + counted, minute.begin + MINUTE_MS),
      day: perDay === undefined ? undefined : windowOf(perDay, usedToday + counted, (today + 1) * DAY_MS),
    };
  }
}

function windowOf(limit: number, used: number, resetAt: number) {
  return { limit, remaining: Math.max(0, limit - used), resetAt };
}
