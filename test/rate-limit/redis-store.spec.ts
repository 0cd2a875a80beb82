import * as fc from 'fast-check';
import { readConfig } from '../../src/platform/config/config';
import { banPolicyOf } from '../../src/rate-limit/bans';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import { RedisConnector } from '../../src/rate-limit/redis.connector';
import { RedisLink } from '../../src/rate-limit/redis.link';
import type { OwnerLimits } from '../../src/rate-limit/rate-limit.store';
import { keysOf, rulesOf } from '../../src/rate-limit/redis.script';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';

const PATIENCE_MS = 5_000;
/** Each step is a round trip. */
const RUNS = 100;
const DAY_MS = 86_400_000;
/** A busy machine may take as long for two commands, and the ban itself is longer. */
const SLACK_MS = 60_000;
const KEY = { id: 'key', unbannedAt: 0 };
const CONFIG = readConfig({ RATE_LIMIT_BAN_AFTER: '2', RATE_LIMIT_BAN_SECONDS: '200' });
const POLICY = banPolicyOf(CONFIG);
const WITHOUT_EXPIRY = `
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    if redis.call('PTTL', key) == -1 then table.insert(found, key) end
  end
  return found`;

interface Step {
  readonly waitMs: number;
  readonly owner: string;
  readonly limits: OwnerLimits;
  readonly keyId: string;
  readonly times: number;
  readonly isLifted: boolean;
}

const OWNER = 'account:1';
const LIMITS = { perMinute: 1, perDay: 30 };
const STEP: Step = { waitMs: 0, owner: OWNER, limits: LIMITS, keyId: 'a', times: 1, isLifted: false };
const BAN = [
  { ...STEP, times: 2 },
  { ...STEP, waitMs: 1_100 },
  { ...STEP, waitMs: 1_100 },
];
/** An unban by a clock that was set back by a millisecond meanwhile; then two requests. */
const LIFTED_AFTER_SETBACK = [...BAN, { ...STEP, waitMs: -1, isLifted: true, times: 2 }];
/** A clock that was set back by a day during a ban. */
const BANNED_BEFORE_SETBACK = [...BAN, { ...STEP, waitMs: -DAY_MS }];

const integer = (min: number, max: number) => fc.integer({ min, max });

// Its rules are those of the memory store: memory-windows.spec and memory-bans.spec.
describeWithRedis('the Redis store', () => {
  let redis: RedisServer;
  let link: RedisLink;
  beforeAll(async () => {
    redis = await startRedis();
    link = new RedisLink(
      new RedisConnector([`redis://127.0.0.1:${redis.port}`]),
      PATIENCE_MS,
      rulesOf(POLICY),
    );
    await link.open();
  });
  afterAll(async () => {
    link.close();
    await redis.stop();
  });

  async function create() {
    await redis.command('FLUSHALL');
    const clock = new TestClock();
    const store = new RedisRateLimitStore(link, new MemoryRateLimitStore(clock, CONFIG), POLICY, clock);
    return { clock, store, memory: new MemoryRateLimitStore(clock, CONFIG) };
  }

  it('decides and reads like the memory store for any sequence of charges, clock changes, plans and unbans', async () => {
    const charges = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          owner: fc.constantFrom(OWNER, 'account:2'),
          limits: fc.record({ perMinute: integer(1, 4), perDay: integer(1, 30) }),
        }),
      },
      fc.record({
        owner: fc.constant('account:1:route'),
        limits: fc.record({ perMinute: integer(1, 4), windowMs: integer(1, DAY_MS) }),
      }),
    );
    const others = fc.record({
      waitMs: fc.oneof(
        { weight: 4, arbitrary: fc.constant(0) },
        integer(-90_000, 90_000),
        integer(900, 1_100),
        integer(-90_000_000, 90_000_000),
      ),
      keyId: fc.constantFrom('a', 'b'),
      times: integer(1, 4),
      isLifted: fc.boolean(),
    });
    const step = fc.tuple(charges, others).map(([charge, other]): Step => ({ ...charge, ...other }));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps: readonly Step[]) => {
        const { store, clock, memory } = await create();
        let unbannedAt = 0;
        for (const { waitMs, owner, keyId, limits, times, isLifted } of steps) {
          clock.advance({ seconds: waitMs / 1_000 });
          if (isLifted) unbannedAt = clock.now();
          const charge = { owner, limits, key: { id: `${owner}${keyId}`, unbannedAt } };
          // One round trip: Redis decides in the order of the charges.
          const taken = await Promise.all(Array.from({ length: times }, async () => store.take(charge)));
          expect(taken).toEqual(Array.from({ length: times }, () => memory.take(charge)));
          expect(await store.read(charge)).toEqual(memory.read(charge));
        }
        expect(await redis.command('EVAL', WITHOUT_EXPIRY, 0)).toEqual([]);
      }),
      { numRuns: RUNS, seed: 31, examples: [[LIFTED_AFTER_SETBACK], [BANNED_BEFORE_SETBACK]] },
    );
  });

  it('keeps a ban for 24 h, so that an instance which never heard of it makes the next one longer', async () => {
    const { store, clock } = await create();
    const charge = { owner: OWNER, limits: { perMinute: 1, perDay: 9 }, key: KEY };
    for (const seconds of [0, 2, 1]) {
      await store.take(charge);
      clock.advance({ seconds });
    }
    expect(await store.take(charge)).toMatchObject({ verdict: 'banned', beganBan: true });
    const leftMs = Number(await redis.command('PTTL', keysOf(charge.owner, KEY.id)[2]!));
    expect(leftMs).toBeGreaterThan(DAY_MS - SLACK_MS);
    expect(leftMs).toBeLessThanOrEqual(DAY_MS);
  });

  it.each(['x', 'nan', 'inf', '-1', '1.5', '1e300', '9'.repeat(400), '1e14'])(
    'decides and reads like the memory store if each number in Redis is %s',
    async (value) => {
      const { store, memory } = await create();
      const charge = { owner: OWNER, limits: { perMinute: 3, perDay: 9 }, key: KEY };
      expect(await store.take(charge)).toEqual(memory.take(charge));
      for (const window of keysOf(charge.owner, KEY.id).slice(0, 2)) {
        const fields = (await redis.command('HKEYS', window)) as string[];
        for (const field of fields) {
          await redis.command('HSET', window, field, value);
          expect((await store.read(charge)).windows).toEqual(memory.read(charge).windows);
          expect(await store.take(charge)).toEqual(memory.take(charge));
        }
      }
      expect(link.isShared).toBe(true);
    },
  );

  it.each([
    '',
    '{"strikes"',
    '[]',
    'null',
    '5',
    '['.repeat(2_000),
    '{"strikes":nan}',
    '{"strikes":[null]}',
    '{"firstRejectedAt":0,"askedToWaitUntil":0,"strikes":["x",-1,1e300,{}],"bannedAt":0,"bannedUntil":0}',
    '{"firstRejectedAt":{},"askedToWaitUntil":[],"strikes":[],"bannedAt":true,"bannedUntil":"x"}',
    '{"firstRejectedAt":0,"askedToWaitUntil":0,"strikes":[],"bannedAt":1e300,"bannedUntil":1e300}',
  ])('decides like the memory store if the key history in Redis is %s', async (history) => {
    const { store, clock, memory } = await create();
    const charge = { owner: OWNER, limits: { perMinute: 1, perDay: 9 }, key: KEY };
    for (let at = 0; at < 4; at += 1) {
      await redis.command('SET', keysOf(charge.owner, KEY.id)[2]!, history);
      expect(await store.take(charge)).toEqual(memory.take(charge));
      clock.advance({ seconds: 0.3 });
    }
    expect(link.isShared).toBe(true);
  });
});
