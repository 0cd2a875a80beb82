import type { Config } from '../../../src/platform/config/config';
import type { RateLimitStore } from '../../../src/rate-limit';
import type { TestClock } from '../../support/clock';

/** A store of the rate limit under test, with the clock that it reads. */
export interface StoreUnderTest {
  readonly store: RateLimitStore;
  readonly clock: TestClock;
}

/** The settings of bans. */
export type BanSettings = Pick<Config, 'rateLimitBanAfter' | 'rateLimitBanSeconds'>;

export const NO_BANS: BanSettings = { rateLimitBanAfter: 0, rateLimitBanSeconds: 300 };

/** Creates an empty store. */
export type CreateStore = (settings: BanSettings) => StoreUnderTest | Promise<StoreUnderTest>;

/** Generates numbers from 0 to 1, the same in every run (Park and Miller's generator). */
export function seededRandom(): () => number {
  const modulus = 2_147_483_647;
  let state = 20_261_121;
  return () => (state = (state * 48_271) % modulus) / modulus;
}
