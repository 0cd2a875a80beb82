import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOutcomeUnknown } from '../failure/support/expect-unavailable';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { send } from '../support/http';
import { runBuilt, running, type RunningService } from '../support/service';
import { createKey } from './support/keys';
import { median } from './support/programs';

const ROUNDS = 20;
const WRITERS = 8;
const MIN_LIFE_MS = 200;
const MAX_LIFE_MS = 1_200;
const MAX_OUTAGE_MS = 500;
const RETRY_AFTER_MS = 10;
const MAX_RECOVERY_MS = 1_000;

jest.setTimeout(600_000);

/** The unique names of the animals, by the outcome that the writer knows. */
interface Ledger {
  readonly acknowledged: Map<string, number>;
  /** A 503 that excludes an effect, or no connection. */
  readonly failed: Set<string>;
  /** No response, or a 503 that leaves the effect open. */
  readonly unknown: Set<string>;
}

describe('PostgreSQL and the service, killed at random, with fsync on', () => {
  let server: OwnServer;
  let service: RunningService;
  let environment: Record<string, string>;
  beforeAll(async () => {
    server = await startOwnServer({ durable: true });
    environment = { DATABASE_URL: server.url(), LOG_LEVEL: 'silent' };
    service = await running(runBuilt('main', [], environment));
  });
  afterAll(async () => {
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    await server.remove();
  });

  async function killService(): Promise<void> {
    service.child.kill('SIGKILL');
    await service.ended;
    service = await running(runBuilt('main', [], environment));
  }

  /** @returns the time of its next start */
  async function killServer(): Promise<number> {
    await server.kill();
    await sleep(Math.random() * MAX_OUTAGE_MS);
    await server.start();
    return performance.now();
  }

  it(`keep every acknowledged animal and no failed one in ${ROUNDS} rounds with ${WRITERS} writers`, async () => {
    const key = await createKey(environment);
    const ledger: Ledger = { acknowledged: new Map(), failed: new Set(), unknown: new Set() };
    const ended = new AbortController();
    const writers = Array.from({ length: WRITERS }, () =>
      write(() => service.url, key, ledger, ended.signal),
    );
    const backAt: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
      // Kills the service in a third of the rounds, at random, else PostgreSQL.
      if (Math.random() < 1 / 3) await killService();
      else backAt.push(await killServer());
    }
    await sleep(MAX_LIFE_MS);
    ended.abort();
    await Promise.all(writers);

    const rows = await query<{ name: string }>(server.url(), 'SELECT name FROM pets');
    const stored = new Set(rows.map(({ name }) => name));
    const { acknowledged, failed, unknown } = ledger;
    const lost = [...acknowledged.keys()].filter((name) => !stored.has(name));
    const present = [...failed].filter((name) => stored.has(name));
    const done = [...unknown].filter((name) => stored.has(name));
    const successes = [...acknowledged.values()].sort((one, other) => one - other);
    const recoveries = backAt.map((at) => (successes.find((success) => success > at) ?? Infinity) - at);
    process.stdout.write(
      `set: ${ROUNDS} rounds, ${backAt.length} of them PostgreSQL; acknowledged ${acknowledged.size}, lost ${lost.length}` +
        `; failed ${failed.size}, present ${present.length}; unknown ${unknown.size}, done ${done.length}` +
        `; first success after PostgreSQL is back ${Math.round(median(recoveries))} ms (median), ${Math.round(Math.max(...recoveries))} ms (longest)\n`,
    );
    expect(lost).toEqual([]);
    expect(present).toEqual([]);
    expect(stored.size).toBe(rows.length);
    expect(stored.size).toBe(acknowledged.size + done.length);
    expect(acknowledged.size).toBeGreaterThan(ROUNDS * WRITERS);
    expect(median(recoveries)).toBeLessThan(MAX_RECOVERY_MS);
  });
});

/** Adds animals one after the other until `ended`, and records the outcome of each. */
async function write(
  url: () => string,
  key: string,
  { acknowledged, failed, unknown }: Ledger,
  ended: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  while (!ended.aborted) {
    const name = randomUUID();
    const body = { name, categoryId: 1 };
    const response = await send(url(), 'POST', '/v1/pets', { key, body, agent }).catch(outcomeOf);
    if (response === 'failed') failed.add(name);
    else if (response === 'unknown' || isOutcomeUnknown(response)) unknown.add(name);
    else if (response.status === 201) acknowledged.set(name, performance.now());
    else if (response.status === 503) failed.add(name);
    else throw new Error(`unexpected response: ${response.text}`);
    if (!acknowledged.has(name)) await sleep(RETRY_AFTER_MS);
  }
  agent.destroy();
}

/** Returns the outcome of a request without a response. */
function outcomeOf(error: NodeJS.ErrnoException): 'failed' | 'unknown' {
  return error.code === 'ECONNREFUSED' ? 'failed' : 'unknown';
}
