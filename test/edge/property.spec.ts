import { startApp, type TestApp } from '../support/app';
import { fuzzBodies, fuzzRequests, type FuzzTarget } from './support/fuzz';

const RUNS = 500;

describe('arbitrary requests', () => {
  let app: TestApp;
  let target: FuzzTarget;
  beforeAll(async () => {
    app = await startApp();
    target = { url: app.url, key: await app.unlimitedKey() };
  });
  afterAll(() => app.close());

  it(`${RUNS} arbitrary bodies to every operation: no 5xx, both forms of each error agree, and each accepted body is stored exactly`, async () => {
    expect(await fuzzBodies(target, RUNS)).toBeGreaterThan(RUNS / 100);
  });

  it(`${RUNS} requests with changed bytes: no 5xx, no hang, and every response has the promised headers`, async () => {
    await fuzzRequests(target, RUNS);
    expect((await app.get('/v1/pets', { key: target.key })).status).toBe(200);
  });
});
