import * as fc from 'fast-check';
import { type Config, readConfig } from '../../src/platform/config/config';
import { banPolicyOf } from '../../src/rate-limit/bans';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import { RedisConnector } from '../../src/rate-limit/redis.connector';
import { RedisLink } from '../../src/rate-limit/redis.link';
import { keysOf, rulesOf } from '../../src/rate-limit/redis.script';
import { RedisRateLimitStore } from '../../src/rate-limit/redis.store';
import { TestClock } from '../support/clock';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis';
import { damage, DAMAGES } from './redis-damage';
import { itKeepsBans } from './support/bans.contract';
import type { BanSettings } from './support/store-under-test';
import { itKeepsWindows } from './support/windows.contract';

const PATIENCE_MS = 5_000;
/** Each step is a round trip. */
const RUNS = 25;
const DAY_MS = 86_400_000;
/** A busy machine may take as long for two commands, and the ban itself is longer. */
const SLACK_MS = 60_000;
const KEY = { id: 'key', unbannedAt: 0 };
const WITHOUT_EXPIRY = `
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    if redis.call('PTTL', key) == -1 then table.insert(found, key) end
  end
  return found`;

/** A ban, and an unban by a clock that was set back by a millisecond meanwhile; then two requests. */
const STEP = { waitMs: 0, owner: 1, keyId: 'a', perMinute: 1, perDay: 30, times: 1, isLifted: false };
const LIFTED_AFTER_SETBACK = [
  { ...STEP, times: 2 },
  { ...STEP, waitMs: 1_100 },
  { ...STEP, waitMs: 1_100 },
  { ...STEP, waitMs: -1, isLifted: true, times: 2 },
];

describeWithRedis('the Redis store', () => {
  let redis: RedisServer;
  const links = new Map<string, RedisLink>();
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    for (const link of links.values()) link.close();
    await redis.stop();
  });

  /** Returns one connection for each set of rules. */
  async function linkFor(config: Config): Promise<RedisLink> {
    const rules = rulesOf(banPolicyOf(config));
    const known = links.get(rules);
    if (known) return known;
    const url = `redis://127.0.0.1:${redis.port}`;
    const link = new RedisLink(new RedisConnector([url]), PATIENCE_MS, rules);
    links.set(rules, link);
    await link.open();
    return link;
  }

  async function create(settings: Record<string, string> = {}) {
    await redis.command('FLUSHALL');
    const clock = new TestClock();
    const config = readConfig(settings);
    const local = new MemoryRateLimitStore(clock, config);
    const store = new RedisRateLimitStore(await linkFor(config), local, banPolicyOf(config), clock);
    return { clock, store };
  }

  describe('keeps windows and bans, and every key expires:', () => {
    afterEach(async () => expect(await redis.command('EVAL', WITHOUT_EXPIRY, 0)).toEqual([]));
    const createFor = ({ rateLimitBanAfter, rateLimitBanSeconds }: BanSettings) =>
      create({
        RATE_LIMIT_BAN_AFTER: String(rateLimitBanAfter),
        RATE_LIMIT_BAN_SECONDS: String(rateLimitBanSeconds),
      });
    itKeepsWindows(createFor, RUNS);
    itKeepsBans(createFor);
  });

  it('decides and reads like the memory store for any sequence of charges, clock changes, plans and unbans', async () => {
    const settings = { RATE_LIMIT_BAN_AFTER: '2', RATE_LIMIT_BAN_SECONDS: '200' };
    const step = fc.record({
      waitMs: fc.oneof(
        { weight: 4, arbitrary: fc.constant(0) },
        fc.integer({ min: -90_000, max: 90_000 }),
        fc.integer({ min: 900, max: 1_100 }),
        fc.integer({ min: -90_000_000, max: 90_000_000 }),
      ),
      owner: fc.integer({ min: 1, max: 2 }),
      keyId: fc.constantFrom('a', 'b'),
      perMinute: fc.integer({ min: 1, max: 4 }),
      perDay: fc.integer({ min: 1, max: 30 }),
      times: fc.integer({ min: 1, max: 4 }),
      isLifted: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { store, clock } = await create(settings);
        const memory = new MemoryRateLimitStore(clock, readConfig(settings));
        let unbannedAt = 0;
        for (const { waitMs, owner, keyId, perMinute, perDay, times, isLifted } of steps) {
          clock.advance({ seconds: waitMs / 1_000 });
          if (isLifted) unbannedAt = clock.now();
          const key = { id: `${owner}${keyId}`, unbannedAt };
          const charge = { owner: `account:${owner}`, limits: { perMinute, perDay }, key };
          // One round trip: Redis decides in the order of the charges.
          const taken = await Promise.all(Array.from({ length: times }, async () => store.take(charge)));
          expect(taken).toEqual(Array.from({ length: times }, () => memory.take(charge)));
          expect(await store.read(charge)).toEqual(memory.read(charge));
        }
        expect(await redis.command('EVAL', WITHOUT_EXPIRY, 0)).toEqual([]);
      }),
      { numRuns: 6 * RUNS, examples: [[LIFTED_AFTER_SETBACK]] },
    );
  });

  it('keeps a ban for 24 h, so that an instance which never heard of it makes the next one longer', async () => {
    const { store, clock } = await create({ RATE_LIMIT_BAN_AFTER: '1', RATE_LIMIT_BAN_SECONDS: '300' });
    const charge = { owner: 'account:1', limits: { perMinute: 1, perDay: 9 }, key: KEY };
    for (const seconds of [0, 2]) {
      await store.take(charge);
      clock.advance({ seconds });
    }
    expect(await store.take(charge)).toMatchObject({ verdict: 'banned', beganBan: true });
    const leftMs = Number(await redis.command('PTTL', keysOf(charge.owner, KEY.id)[2]!));
    expect(leftMs).toBeGreaterThan(DAY_MS - SLACK_MS);
    expect(leftMs).toBeLessThanOrEqual(DAY_MS);
  });

  it('decides and reads like the memory store if keys in Redis are damaged, and the script never fails', async () => {
    const settings = { RATE_LIMIT_BAN_AFTER: '300' };
    const link = await linkFor(readConfig(settings));
    const run = jest.spyOn(link, 'run');
    const step = fc.record({
      waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90_000 })),
      times: fc.integer({ min: 1, max: 4 }),
      damaged: fc.option(DAMAGES),
      reads: fc.integer({ min: 0, max: 1 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const { store, clock } = await create(settings);
        const memory = new MemoryRateLimitStore(clock, readConfig(settings));
        const charge = { owner: 'account:1', limits: { perMinute: 3, perDay: 9 }, key: KEY };
        for (const { waitMs, times, damaged, reads } of steps) {
          clock.advance({ seconds: waitMs / 1_000 });
          if (damaged) await damage(redis, keysOf(charge.owner, KEY.id), damaged);
          // Damage may lose strikes, which only Redis knows.
          for (let at = 0; at < reads; at += 1) {
            expect((await store.read(charge)).windows).toEqual(memory.read(charge).windows);
          }
          for (let at = 0; at < times; at += 1) expect(await store.take(charge)).toEqual(memory.take(charge));
        }
      }),
      { numRuns: 2 * RUNS },
    );
    await Promise.all(run.mock.results.map(({ value }) => value));
    expect(link.isShared).toBe(true);
    run.mockRestore();
  });
});
