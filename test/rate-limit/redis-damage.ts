import * as fc from 'fast-check';
import type { RedisServer } from '../support/redis';

/** A value that the service never writes, in one of the Redis keys of an owner. */
type Damage =
  | { readonly window: 0 | 1; readonly field: 'used' | 'endsAt' | 'own'; readonly value: string }
  | { readonly offender: string };

const NUMBERS = [
  'x',
  '',
  'nan',
  'inf',
  '-inf',
  '-1',
  '1.5',
  '1e300',
  '-1e300',
  '9'.repeat(400),
  '1e14',
  '0x',
  '{}',
];
const MEMBERS = [null, true, 'x', -1, 1.5, 1e300, [], {}, '9'.repeat(400)];
const TEXTS = [
  '',
  'x',
  '[]',
  '"x"',
  '{}',
  '5',
  'null',
  'true',
  '{"strikes"',
  '['.repeat(2_000),
  'NaN',
  '{"strikes":nan}',
];
const NAMES = ['firstRejectedAt', 'askedToWaitUntil', 'strikes', 'bannedAt', 'bannedUntil'];

/** A key history with a damaged or missing member; the other members are those of a key without a rejection. */
const offender = fc
  .record({
    healthy: fc.constant({
      firstRejectedAt: 0,
      askedToWaitUntil: 0,
      strikes: [],
      bannedAt: 0,
      bannedUntil: 0,
    }),
    damaged: fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom(...MEMBERS), { minKeys: 1 }),
    strikes: fc.option(fc.array(fc.constantFrom(...MEMBERS), { minLength: 1 })),
    missing: fc.option(fc.constantFrom(...NAMES)),
  })
  .map(({ healthy, damaged, strikes, missing }) => {
    const all = { ...healthy, ...damaged, ...(strikes ? { strikes } : {}) };
    return JSON.stringify(Object.fromEntries(Object.entries(all).filter(([name]) => name !== missing)));
  });

export const DAMAGES: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({
    window: fc.constantFrom(0 as const, 1 as const),
    field: fc.constantFrom('used' as const, 'endsAt' as const, 'own' as const),
    value: fc.constantFrom(...NUMBERS),
  }),
  fc.record({ offender: fc.oneof(offender, fc.constantFrom(...TEXTS), fc.string({ unit: 'binary' })) }),
);

/** @param keys from `keysOf` */
export async function damage(redis: RedisServer, keys: readonly string[], done: Damage): Promise<void> {
  if ('offender' in done) return void (await redis.command('SET', keys[2]!, done.offender));
  const key = keys[done.window]!;
  const own = String(await redis.command('HKEYS', key)).match(/own:[^,]+/)?.[0] ?? 'own:';
  await redis.command('HSET', key, done.field === 'own' ? own : done.field, done.value);
}
