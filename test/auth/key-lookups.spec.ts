import { KnownKeysRepository, type KnownKey } from '../../src/auth/known-keys.repository';
import { KeyCache } from '../../src/auth/key-cache';
import { serviceUnavailable } from '../../src/platform/errors/http.errors';
import { KeyLookups, MAX_HASHES, MAX_WAITING } from '../../src/auth/key-lookups';
import { TestClock } from '../support/clock';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('lookups of secrets', () => {
  /** The queries that were sent: their hashes, and functions that end them. */
  let sent: { hashes: readonly string[]; end: (keys?: Map<string, KnownKey>) => void; fail: () => void }[];
  let clock: TestClock;
  let lookups: KeyLookups;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    sent = [];
    const findBySecretHashes = (hashes: readonly string[]) =>
      new Promise<Map<string, KnownKey>>((resolve, reject) => {
        const end = (keys = new Map<string, KnownKey>()) => resolve(keys);
        sent.push({ hashes, end, fail: () => reject(new Error('the database is unreachable')) });
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

  it('return the key of each secret, or undefined', async () => {
    const [first, second, third] = find(3);
    await settled();
    sent[0]!.end();
    await settled();
    const key = { id: 'a key' } as KnownKey;
    sent[1]!.end(new Map([['2', key]]));
    expect(await Promise.all([first, second, third])).toMatchObject([
      { key: undefined },
      { key: undefined },
      { key },
    ]);
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

  it('fail if their query fails; the next query succeeds', async () => {
    const [failed, next] = find(2);
    sent[0]!.fail();
    expect(await failed).toBe('the database is unreachable');
    await settled();
    sent[1]!.end();
    expect(await next).toMatchObject({ key: undefined });
  });

  it('are rejected if the queue is full; those in the queue succeed', async () => {
    const waiting = find(1 + MAX_WAITING);
    expect(await find(1, MAX_WAITING + 1)[0]).toBe(serviceUnavailable().message);
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
  const key = { id: 'a key' } as KnownKey;
  /** Lookups of made-up keys hang; those of the known key fail. */
  let isHanging: boolean;
  let isFailing: boolean;
  let clock: TestClock;
  let cache: KeyCache;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    isHanging = isFailing = false;
    const findBySecretHashes = (hashes: readonly string[]) => {
      if (hashes.includes('known')) {
        const failure = new Error('the database is unreachable');
        return isFailing ? Promise.reject(failure) : Promise.resolve(new Map([['known', key]]));
      }
      return isHanging ? new Promise(() => undefined) : Promise.resolve(new Map());
    };
    clock = new TestClock();
    const repository = Object.assign(Object.create(KnownKeysRepository.prototype), { findBySecretHashes });
    cache = new KeyCache(repository, clock);
  });
  afterEach(() => jest.useRealTimers());

  async function expectRefresh(): Promise<void> {
    const refreshed = jest.fn();
    void Promise.resolve(cache.lookup('known')).then(refreshed);
    await settled();
    expect(refreshed).toHaveBeenCalledWith(expect.objectContaining({ key }));
  }

  it('refreshes a known key while lookups of cached and new made-up keys hang', async () => {
    expect(await cache.lookup('known')).toMatchObject({ key });
    expect(await cache.lookup('made up')).toMatchObject({ key: undefined });
    clock.advance({ seconds: 5 });
    isHanging = true;
    for (const hash of ['made up', 'never seen']) void cache.lookup(hash);
    await expectRefresh();
  });

  it('does so after a refresh that failed too', async () => {
    expect(await cache.lookup('known')).toMatchObject({ key });
    clock.advance({ seconds: 5 });
    isFailing = true;
    await expect(cache.lookup('known')).rejects.toThrow('unreachable');
    isFailing = false;
    isHanging = true;
    void cache.lookup('made up');
    await expectRefresh();
  });
});
