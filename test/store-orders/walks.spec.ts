import { startApp, type TestApp } from '../support/app';
import { walkAtRandom } from './support/walks';

const RUNS = 15;
const UNLIMITED = { plan: 'enterprise', perMinute: 1_000_000_000, perDay: 1_000_000_000 } as const;

/** A service with keys for the clients of a walk. */
async function subjectOf(app: TestApp) {
  const keys = [];
  for (let at = 0; at < 8; at += 1) keys.push((await app.createKey({ choice: UNLIMITED })).key);
  return {
    url: app.url,
    keys,
    query: (text: string, parameters?: unknown[]) => app.database.query(text, parameters),
  };
}

describe('8 clients that place, approve, deliver and cancel at random over 20 animals', () => {
  it('leave animals as their orders say, no animal sold or reserved twice, by allowed transitions alone', async () => {
    const app = await startApp({ databasePoolWaitMs: 30_000 });
    const answered = await walkAtRandom(await subjectOf(app), RUNS);
    // Else nothing was tried.
    expect(answered[200]).toBeGreaterThan(RUNS);
    expect(answered[409]).toBeGreaterThan(RUNS);
    await app.close();
  });
});
