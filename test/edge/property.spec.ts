import { startApp, type TestApp } from '../support/app';
import { fuzzBodies, fuzzRequests, type FuzzTarget } from './support/fuzz';

const RUNS = 500;

describe('whatever is sent', () => {
  let app: TestApp;
  let target: FuzzTarget;
  beforeAll(async () => {
    app = await startApp();
    const choice = { plan: 'enterprise', perMinute: 1e6, perDay: 1e6 } as const;
    target = { url: app.url, key: (await app.createKey({ choice })).key };
  });
  afterAll(() => app.close());

  it(`${RUNS} arbitrary bodies to every operation: no 5xx, and stored is exactly what an accepted body said`, async () => {
    expect(await fuzzBodies(target, RUNS)).toBeGreaterThan(RUNS / 100);
  });

  it(`${RUNS} requests with changed bytes: no 5xx, no hang, the promised headers on every answer`, async () => {
    await fuzzRequests(target, RUNS);
    expect((await app.get('/v1/pets', { key: target.key })).status).toBe(200);
  });
});
