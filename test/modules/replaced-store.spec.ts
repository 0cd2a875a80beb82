import { OWN_RATE_LIMIT_STORE } from '../../src';
import { rateLimitStoreContract } from '../../src/testing';
import { startApp, type TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { expectError } from '../support/expect-error';
import { itKeeps } from '../support/it-keeps';
import { ownStore, OwnRateLimitStore } from './support/own-store.extension';

describe("a rate-limit store of a team's own", () => {
  itKeeps(
    rateLimitStoreContract((settings) => {
      const clock = new TestClock();
      return { clock, store: new OwnRateLimitStore(clock, settings) };
    }),
  );
});

describe("a service with a rate-limit store of a team's own", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { extensions: [ownStore] });
  });
  afterAll(() => app.close());

  it('decides on every request, and its windows are in the headers', async () => {
    const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 3, perDay: 4 } });
    const get = () => app.get('/v1/pets', { key });
    const responses = await Promise.all(Array.from({ length: 5 }, get));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
    expectError(await get(), 429, 'rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await get()).headers['x-ratelimit-remaining']).toBe('0');
    expectError(await get(), 429, 'daily_quota_exceeded');
  });

  it('counts requests without a valid key for their address', async () => {
    await app.get('/v1/pets', { key: undefined });
    const store = app.nest.get<OwnRateLimitStore>(OWN_RATE_LIMIT_STORE, { strict: false });
    expect([...store.owners.keys()]).toContainEqual(expect.stringMatching(/^ip:/));
  });

  it('replaces the counters in the database, which stay empty', async () => {
    await app.restart();
    expect(await app.database.query('SELECT owner FROM rate_limit_counters')).toEqual([]);
    expect(await app.database.query('SELECT id FROM rate_limit_instances')).toEqual([]);
  });
});
