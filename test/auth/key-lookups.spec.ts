import { ApiKeysRepository, type KnownKey } from '../../src/auth/api-keys.repository';
import { KeyCache } from '../../src/auth/key-cache';
import { serviceUnavailable } from '../../src/errors/http.errors';
import { KeyLookups, MAX_HASHES, MAX_WAITING } from '../../src/auth/key-lookups';
import { TestClock } from '../support/clock';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('lookups of secrets', () => {
  /** The hashes of each query that was sent, and how it ends. */
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

  it('share one query at a time, the next one for all that came meanwhile', async () => {
    const answers = find(1 + MAX_HASHES + 7);
    expect(sizes()).toEqual([1]);
    await endAll();
    expect(sizes()).toEqual([1, MAX_HASHES, 7]);
    await Promise.all(answers);
  });

  it('give each secret its own key, or none', async () => {
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

  it('are as old as their question, however late the answer comes', async () => {
    const askedAt = clock.now();
    const [answer] = find(1);
    clock.advance({ seconds: 3 });
    sent[0]!.end();
    expect(await answer).toMatchObject({ askedAt });
  });

  it('do not wait for long behind a query that hangs, nor end another turn when it ends', async () => {
    const answers = find(3);
    jest.advanceTimersByTime(1_000);
    expect(sizes()).toEqual([1, 2]);
    answers.push(...find(2, 3));
    sent[0]!.end();
    await settled();
    expect(sizes()).toEqual([1, 2]);
    sent[1]!.end();
    await settled();
    expect(sizes()).toEqual([1, 2, 2]);
    await endAll();
    await Promise.all(answers);
  });

  it('fail with their query, and the next ones do not', async () => {
    const [failed, next] = find(2);
    sent[0]!.fail();
    expect(await failed).toBe('the database is unreachable');
    await settled();
    sent[1]!.end();
    expect(await next).toMatchObject({ key: undefined });
  });

  it('are rejected if too many wait, and those that wait are not', async () => {
    const waiting = find(1 + MAX_WAITING);
    expect(await find(1, MAX_WAITING + 1)[0]).toBe(serviceUnavailable().message);
    await endAll();
    const answers = await Promise.all(waiting);
    expect(answers.filter((answer) => typeof answer === 'string')).toEqual([]);
  });

  it('are rejected after 5 s if queries are too slow for all that wait', async () => {
    const answers = find(1 + 10 * MAX_HASHES);
    for (let second = 0; second < 7; second += 1) jest.advanceTimersByTime(1_000);
    expect(sizes()).toEqual([1, ...Array<number>(5).fill(MAX_HASHES)]);
    await endAll();
    const rejected = (await Promise.all(answers)).filter((answer) => typeof answer === 'string');
    expect(rejected).toHaveLength(5 * MAX_HASHES);
  });
});

describe('the cache of keys', () => {
  it('refreshes a known key beside lookups of made-up keys that hang, sent before or not', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const key = { id: 'a key' } as KnownKey;
    let isHanging = false;
    const findBySecretHashes = (hashes: readonly string[]) => {
      if (hashes.includes('known')) return Promise.resolve(new Map([['known', key]]));
      return isHanging ? new Promise(() => undefined) : Promise.resolve(new Map());
    };
    const clock = new TestClock();
    const repository = Object.assign(Object.create(ApiKeysRepository.prototype), { findBySecretHashes });
    const cache = new KeyCache(repository, clock);
    expect(await cache.lookup('known')).toMatchObject({ key });
    expect(await cache.lookup('made up')).toMatchObject({ key: undefined });
    clock.advance({ seconds: 5 });
    isHanging = true;
    for (const hash of ['made up', 'never seen']) void cache.lookup(hash);
    const refreshed = jest.fn();
    void Promise.resolve(cache.lookup('known')).then(refreshed);
    await settled();
    expect(refreshed).toHaveBeenCalledWith(expect.objectContaining({ key }));
    jest.useRealTimers();
  });
});
