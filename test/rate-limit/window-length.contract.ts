import type { CreateStore } from './store.contract';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The contract of a window that is shorter or longer than a minute. The spec of each RateLimitStore runs it. */
export function windowLengthContract(name: string, create: CreateStore): void {
  describe(`${name} meets the contract of windows of any length:`, () => {
    it.each([1, 1_500, MINUTE_MS, HOUR_MS, 366 * 24 * HOUR_MS])(
      'a window of %i ms begins with its first request, admits the limit, and ends after this time',
      async (windowMs) => {
        const { clock, store } = await create();
        const resetAt = clock.now() + windowMs;
        const take = () => store.take({ owner: 'account:1:route', limits: { perMinute: 2, windowMs } });
        const usage = (remaining: number) => ({ minute: { limit: 2, remaining, resetAt }, day: undefined });
        expect(await take()).toMatchObject({ verdict: 'admitted', windows: usage(1) });
        clock.advance({ seconds: (windowMs - 1) / 1_000 });
        expect(await take()).toMatchObject({ verdict: 'admitted', windows: usage(0) });
        expect(await take()).toMatchObject({ verdict: 'limited', windows: usage(0) });
        clock.advance({ seconds: 0.001 });
        expect(await take()).toMatchObject({ verdict: 'admitted', windows: { minute: { remaining: 1 } } });
      },
    );

    it('peek returns a window that has not begun as one that begins now', async () => {
      const { clock, store } = await create();
      const { minute } = store.peek('account:1:route', { perMinute: 2, windowMs: HOUR_MS });
      expect(minute).toEqual({ limit: 2, remaining: 2, resetAt: clock.now() + HOUR_MS });
    });

    it('a window that has begun becomes shorter with its length, but never longer', async () => {
      const { clock, store } = await create();
      const endOf = async (windowMs: number) => {
        const { windows } = await store.take({
          owner: 'account:1:route',
          limits: { perMinute: 9, windowMs },
        });
        return windows.minute.resetAt - clock.now();
      };
      expect(await endOf(HOUR_MS)).toBe(HOUR_MS);
      expect(await endOf(MINUTE_MS)).toBe(MINUTE_MS);
      expect(await endOf(HOUR_MS)).toBe(MINUTE_MS);
    });
  });
}
