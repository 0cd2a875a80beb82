import { startApp, type TestApp } from '../support/app';
import { walkAtRandom } from './support/walks';

const RUNS = 15;

/** Creates the keys for the clients of a walk. */
async function subjectOf(app: TestApp) {
  const keys = [];
  for (let at = 0; at < 8; at += 1) keys.push(await app.unlimitedKey());
  return {
    url: app.url,
    keys,
    query: (text: string, parameters?: unknown[]) => app.database.query(text, parameters),
  };
}

describe('8 concurrent clients that place, approve, deliver and cancel orders of 20 animals at random', () => {
  it('sell or reserve no animal twice, and cause only allowed transitions', async () => {
    const app = await startApp({ databasePoolWaitMs: 30_000 });
    const statuses = await walkAtRandom(await subjectOf(app), RUNS);
    // Proves that both outcomes occurred.
    expect(statuses[200]).toBeGreaterThan(RUNS);
    expect(statuses[409]).toBeGreaterThan(RUNS);
    await app.close();
  });
});
