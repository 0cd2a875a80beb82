import { startApp } from '../support/app';
import { fuzzBodies, fuzzRequests } from './support/fuzz';

const RUNS = 100;

describe('arbitrary requests', () => {
  it(`${RUNS} animals are stored exactly or rejected, and ${RUNS} requests with changed bytes get no 5xx`, async () => {
    const app = await startApp();
    const target = { url: app.url, key: await app.unlimitedKey() };
    expect(await fuzzBodies(target, RUNS)).toBeGreaterThan(RUNS / 100);
    await fuzzRequests(target, RUNS);
    expect((await app.get('/v1/pets', { key: target.key })).status).toBe(200);
    await app.close();
  });
});
