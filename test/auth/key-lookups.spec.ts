import { KnownKeysRepository, type KnownKey } from '../../src/auth/known-keys.repository';
import { KeyCache } from '../../src/auth/key-cache';
import { platformErrors } from '../../src/platform/errors/platform.errors';
import { KeyLookups, MAX_HASHES, MAX_WAITING } from '../../src/auth/key-lookups';
import { TestClock } from '../support/clock';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('lookups of secrets', () => {
  /** The queries that were sent: their hashes, and functions that end them. */
  let sent: { hashes: readonly string[]; end: (keys?: Map<string, KnownKey>) => void }[];
  let clock: TestClock;
  let lookups: KeyLookups;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    sent = [];
    const findBySecretHashes = (hashes: readonly string[]) =>
      new Promise<Map<string, KnownKey>>((resolve) => {
        sent.push({ hashes, end: (keys = new Map<string, KnownKey>()) => resolve(keys) });
      });
    clock = new TestClock();
    lookups = new KeyLookups({ findBySecretHashes }, clock);
  });
  afterEach(() => jest.useRealTimers());

  const find = (count: number, from = 0) =>
    Array.from({ length: count }, (_, at) =>
      lookups.find(`${from + at}`).catch((error: Error) => error.message),
    );
  const endAll = async () => {
    for (let at = 0; at < sent.length; at += 1) {
      sent[at]!.end();
      await settled();
    }
  };
  const sizes = () => sent.map(({ hashes }) => hashes.length);

  it('share one query at a time; the next query takes all that waited', async () => {
    const responses = find(1 + MAX_HASHES + 7);
    expect(sizes()).toEqual([1]);
    await endAll();
    expect(sizes()).toEqual([1, MAX_HASHES, 7]);
    await Promise.all(responses);
  });

  it('have the time at which their query started, not the time of its result', async () => {
    const askedAt = clock.now();
    const [response] = find(1);
    clock.advance({ seconds: 3 });
    sent[0]!.end();
    expect(await response).toMatchObject({ askedAt });
  });

  it('wait at most 1 s for a query that hangs; when it ends, no other turn ends', async () => {
    const responses = find(3);
    jest.advanceTimersByTime(1_000);
    expect(sizes()).toEqual([1, 2]);
    responses.push(...find(2, 3));
    sent[0]!.end();
    await settled();
    expect(sizes()).toEqual([1, 2]);
    sent[1]!.end();
    await settled();
    expect(sizes()).toEqual([1, 2, 2]);
    await endAll();
    await Promise.all(responses);
  });

  it('are rejected if the queue is full; those in the queue succeed', async () => {
    const waiting = find(1 + MAX_WAITING);
    expect(await find(1, MAX_WAITING + 1)[0]).toBe(platformErrors.service_unavailable.example);
    await endAll();
    const responses = await Promise.all(waiting);
    expect(responses.filter((response) => typeof response === 'string')).toEqual([]);
  });

  it('are rejected after 5 s in the queue', async () => {
    const responses = find(1 + 10 * MAX_HASHES);
    for (let second = 0; second < 7; second += 1) jest.advanceTimersByTime(1_000);
    expect(sizes()).toEqual([1, ...Array<number>(5).fill(MAX_HASHES)]);
    await endAll();
    const rejected = (await Promise.all(responses)).filter((response) => typeof response === 'string');
    expect(rejected).toHaveLength(5 * MAX_HASHES);
  });
});

describe('the cache of keys', () => {
  const key = { revokedAt: null } as KnownKey;
  /** Lookups of made-up keys hang. */
  let isHanging: boolean;
  let clock: TestClock;
  let cache: KeyCache;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    isHanging = false;
    const findBySecretHashes = (hashes: readonly string[]) => {
      if (hashes.includes('known')) return Promise.resolve(new Map([['known', key]]));
      return isHanging ? new Promise(() => undefined) : Promise.resolve(new Map());
    };
    clock = new TestClock();
    const repository = Object.assign(Object.create(KnownKeysRepository.prototype), { findBySecretHashes });
    cache = new KeyCache(repository, clock);
  });
  afterEach(() => jest.useRealTimers());

  it('refreshes a known key while lookups of cached and new made-up keys hang', async () => {
    expect(await cache.lookup('known')).toMatchObject({ key });
    expect(await cache.lookup('made up')).toMatchObject({ key: undefined });
    clock.advance({ seconds: 5 });
    isHanging = true;
    for (const hash of ['made up', 'never seen']) void cache.lookup(hash);
    const refreshed = jest.fn();
    void Promise.resolve(cache.lookup('known')).then(refreshed);
    await settled();
    expect(refreshed).toHaveBeenCalledWith(expect.objectContaining({ key }));
  });
});
