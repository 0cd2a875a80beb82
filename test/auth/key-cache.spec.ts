import { KeyCache } from '../../src/auth/key-authenticator';
import { KnownKeysRepository, type KnownKey } from '../../src/auth/known-keys.repository';
import { TestClock } from '../support/clock';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the cache of keys', () => {
  const key = { isRevoked: false } as KnownKey;
  /** Lookups of made-up keys hang. */
  let isHanging: boolean;
  let clock: TestClock;
  let cache: KeyCache;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    isHanging = false;
    const find = (hashes: readonly string[]) => {
      if (hashes.includes('known')) return Promise.resolve(new Map([['known', key]]));
      return isHanging ? new Promise(() => undefined) : Promise.resolve(new Map());
    };
    clock = new TestClock();
    const repository = Object.assign(Object.create(KnownKeysRepository.prototype), { find, refresh: find });
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
