import type { Charge } from '../../../src/rate-limit/rate-limit.store';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/platform/runtime/time';
import { type CreateStore, NO_BANS, seededRandom } from './store-under-test';
import { WindowModel } from './window-model';

const MAX_STEPS = 60;
const LENGTHS_MS = [1, 1_500, MINUTE_MS, HOUR_MS, 366 * 24 * HOUR_MS];
const ROUTE = 'account:1:route';

function charge(owner: string, perMinute: number, perDay?: number): Charge {
  return { owner, limits: { perMinute, ...(perDay === undefined ? {} : { perDay }) } };
}

/**
 * The specs of windows that every store passes.
 *
 * @param sequences the number of sequences that are compared with a model
 */
export function itKeepsWindows(create: CreateStore, sequences: number): void {
  it('N + k concurrent requests: exactly N are admitted, each with another Remaining', async () => {
    const { store } = await create(NO_BANS);
    const own = charge('account:1', 100, 1_000);
    const decisions = await Promise.all(Array.from({ length: 250 }, async () => store.take(own)));
    const admitted = decisions.filter(({ verdict }) => verdict === 'admitted');
    expect(admitted).toHaveLength(100);
    expect(new Set(admitted.map(({ windows }) => windows.minute.remaining)).size).toBe(100);
  });

  it('a window does not become longer if the clock is set back, and admits no more than the limit', async () => {
    const { clock, store } = await create(NO_BANS);
    const own = charge('account:1', 3, 100);
    await store.take(own);
    clock.advance({ seconds: -3_600 });
    const { windows } = await store.take(own);
    expect(windows.minute).toEqual({ limit: 3, remaining: 1, resetAt: clock.now() + 60_000 });
    await store.take(own);
    expect((await store.take(own)).verdict).toBe('limited');
    clock.advance({ seconds: -3_600 });
    expect((await store.take(own)).windows.minute.resetAt).toBe(clock.now() + 60_000);
    clock.advance({ seconds: 30 });
    expect((await store.take(own)).windows.minute.resetAt).toBe(clock.now() + 30_000);
    clock.advance({ seconds: 30 });
    expect((await store.take(own)).verdict).toBe('admitted');
  });

  it('a request exactly at midnight is counted in the day that begins', async () => {
    const { clock, store } = await create(NO_BANS);
    const own = charge('account:1', 5, 1);
    await store.take(own);
    clock.advance({ seconds: 12 * 3_600 });
    const { verdict, windows } = await store.take(own);
    expect(verdict).toBe('admitted');
    expect(windows.day).toEqual({ limit: 1, remaining: 0, resetAt: clock.now() + 86_400_000 });
  });

  it('a smaller limit applies immediately, keeps the counted requests, and never makes Remaining negative', async () => {
    const { store } = await create(NO_BANS);
    for (let at = 0; at < 5; at += 1) await store.take(charge('account:1', 9, 100));
    const rejected = await store.take(charge('account:1', 3, 4));
    expect(rejected.verdict).toBe('limited');
    expect([rejected.windows.minute.remaining, rejected.windows.day?.remaining]).toEqual([0, 0]);
    const { windows } = await store.take(charge('account:1', 20, 100));
    expect([windows.minute.remaining, windows.day?.remaining]).toEqual([14, 94]);
  });

  it('peek charges nothing', async () => {
    const { store } = await create(NO_BANS);
    const limits = { perMinute: 5, perDay: 9 };
    await store.take({ owner: 'account:1', limits });
    const before = store.peek('account:1', limits);
    expect([before.minute.remaining, before.day?.remaining]).toEqual([4, 8]);
    expect(store.peek('account:1', limits)).toEqual(before);
  });

  it('any sequence of charges, waits and plans admits exactly as many requests as the model', async () => {
    const random = seededRandom();
    for (let sequence = 0; sequence < sequences; sequence += 1) await expectLikeModel(create, random);
  });

  it.each(LENGTHS_MS)(
    'a window of %d ms begins with its first request, admits the limit, and ends after this time',
    async (windowMs) => {
      const { clock, store } = await create(NO_BANS);
      const resetAt = clock.now() + windowMs;
      const take = async () => {
        const { verdict, windows } = await store.take({ owner: ROUTE, limits: { perMinute: 2, windowMs } });
        return { verdict, ...windows.minute };
      };
      expect(await take()).toEqual({ verdict: 'admitted', limit: 2, remaining: 1, resetAt });
      clock.advance({ seconds: (windowMs - 1) / SECOND_MS });
      expect(await take()).toEqual({ verdict: 'admitted', limit: 2, remaining: 0, resetAt });
      expect(await take()).toEqual({ verdict: 'limited', limit: 2, remaining: 0, resetAt });
      clock.advance({ seconds: 0.001 });
      expect(await take()).toMatchObject({ verdict: 'admitted', remaining: 1 });
    },
  );

  it('peek returns a window of any length that has not begun as one that begins now', async () => {
    const { clock, store } = await create(NO_BANS);
    const { minute } = store.peek(ROUTE, { perMinute: 2, windowMs: HOUR_MS });
    expect(minute).toEqual({ limit: 2, remaining: 2, resetAt: clock.now() + HOUR_MS });
  });

  it('a window that has begun becomes shorter with its length, but never longer', async () => {
    const { clock, store } = await create(NO_BANS);
    const lengthAt = async (windowMs: number) => {
      const { windows } = await store.take({ owner: ROUTE, limits: { perMinute: 9, windowMs } });
      return windows.minute.resetAt - clock.now();
    };
    expect(await lengthAt(HOUR_MS)).toBe(HOUR_MS);
    expect(await lengthAt(MINUTE_MS)).toBe(MINUTE_MS);
    expect(await lengthAt(HOUR_MS)).toBe(MINUTE_MS);
  });
}

/** Compares a sequence of two accounts, and an address, which has no daily limit, with the model. */
async function expectLikeModel(create: CreateStore, random: () => number): Promise<void> {
  const integer = (min: number, max: number) => min + Math.floor(random() * (max - min + 1));
  const { store, clock } = await create(NO_BANS);
  const models: WindowModel[] = [];
  const decisions: unknown[] = [];
  const expected: unknown[] = [];
  for (let steps = integer(1, MAX_STEPS); steps > 0; steps -= 1) {
    if (random() < 0.25) {
      clock.advance({ seconds: integer(0, random() < 0.5 ? 90_000 : 100_000_000) / 1_000 });
      continue;
    }
    const number = integer(0, 2);
    const model = (models[number] ??= new WindowModel());
    const perMinute = integer(1, 12);
    const perDay = number === 2 ? undefined : integer(1, 30);
    for (let times = integer(1, 8); times > 0; times -= 1) {
      const { verdict, windows } = await store.take(charge(`owner:${number}`, perMinute, perDay));
      decisions.push({ verdict, ...windows });
      expected.push(model.take(clock.now(), perMinute, perDay));
    }
  }
  expect(decisions).toEqual(expected);
}
