import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOutcomeUnknown } from '../failure/support/expect-unavailable';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { send } from '../support/http';
import { runBuilt, running, type RunningService } from '../support/service';
import { until } from '../support/until';
import { createKey } from './support/keys';
import { median } from './support/programs';

const MIN_ROUNDS = 30;
/** In all rounds together. */
const MIN_ACKNOWLEDGED = 50_000;
/** One of so many rounds kills the service, the others kill PostgreSQL. */
const ROUNDS_OF_SERVICE = 3;
/** So many that creations wait for each other, and are joined. */
const WRITERS = 48;
/** Most acknowledged creations of a round; then it ends. */
const MAX_PER_ROUND = 3_500;
/** One of so many creations is read afterwards. */
const CREATIONS_PER_READ = 4;
/** A guard against hanging. */
const MAX_ROUND_MS = 120_000;
const MAX_OUTAGE_MS = 500;
const RETRY_AFTER_MS = 50;
const MAX_RECOVERY_MS = 1_000;

jest.setTimeout(1_200_000);

/** The unique names of the animals, by the outcome that the writer knows. */
interface Ledger {
  readonly acknowledged: Map<string, number>;
  /** A 503 that excludes an effect, or no connection. */
  readonly failed: Set<string>;
  /** No response, or a 503 that leaves the effect open. */
  readonly unknown: Set<string>;
  /** The acknowledged animals that were read, by the status of the response; 0 for none. */
  readonly reads: Map<number, number>;
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

  it(`keep ${MIN_ACKNOWLEDGED} acknowledged animals and no failed one, with ${WRITERS} concurrent writers`, async () => {
    const key = await createKey(environment);
    const ledger: Ledger = {
      acknowledged: new Map(),
      failed: new Set(),
      unknown: new Set(),
      reads: new Map(),
    };
    const { acknowledged, failed, unknown, reads } = ledger;
    const ended = new AbortController();
    const writers = Array.from({ length: WRITERS }, () =>
      write(() => service.url, key, ledger, ended.signal),
    );
    const written = (count: number) => {
      const before = acknowledged.size;
      return until(() => acknowledged.size - before >= count, MAX_ROUND_MS);
    };
    const backAt: number[] = [];
    let rounds = 0;
    for (; rounds < MIN_ROUNDS || acknowledged.size < MIN_ACKNOWLEDGED; rounds += 1) {
      await written(Math.random() * MAX_PER_ROUND);
      if (rounds % ROUNDS_OF_SERVICE === 0) await killService();
      else backAt.push(await killServer());
    }
    await written(1);
    ended.abort();
    await Promise.all(writers);

    const rows = await query<{ name: string; transaction: string }>(
      server.url(),
      'SELECT name, xmin::text AS transaction FROM pets',
    );
    const stored = new Set(rows.map(({ name }) => name));
    const transactions = new Set(rows.map(({ transaction }) => transaction)).size;
    const lost = [...acknowledged.keys()].filter((name) => !stored.has(name));
    const present = [...failed].filter((name) => stored.has(name));
    const done = [...unknown].filter((name) => stored.has(name));
    const successes = [...acknowledged.values()].sort((one, other) => one - other);
    const recoveries = backAt.map((at) => (successes.find((success) => success > at) ?? Infinity) - at);
    process.stdout.write(
      `set: ${rounds} rounds, ${backAt.length} of them PostgreSQL; acknowledged ${acknowledged.size}, lost ${lost.length}` +
        `; failed ${failed.size}, present ${present.length}; unknown ${unknown.size}, done ${done.length}` +
        `; ${rows.length} animals in ${transactions} transactions; reads of acknowledged animals by status ${JSON.stringify(Object.fromEntries(reads))}` +
        `; first success after PostgreSQL is back ${Math.round(median(recoveries))} ms (median), ${Math.round(Math.max(...recoveries))} ms (longest)\n`,
    );
    expect(lost).toEqual([]);
    expect(present).toEqual([]);
    expect(stored.size).toBe(rows.length);
    expect(stored.size).toBe(acknowledged.size + done.length);
    expect(transactions).toBeLessThan(rows.length / 2);
    expect(reads.get(404)).toBeUndefined();
    expect(reads.get(200)).toBeGreaterThan(acknowledged.size / CREATIONS_PER_READ / 2);
    expect(median(recoveries)).toBeLessThan(MAX_RECOVERY_MS);
  });
});

/** Adds animals one after the other until `ended`, and records the outcome of each. */
async function write(
  url: () => string,
  key: string,
  { acknowledged, failed, unknown, reads }: Ledger,
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
    else if (acknowledged.size % CREATIONS_PER_READ === 0 && typeof response === 'object') {
      const path = response.headers.location!;
      const read = await send(url(), 'GET', path, { key, agent }).catch(() => undefined);
      if (read?.status === 200) expect(read.text).toBe(response.text);
      const status = read?.status ?? 0;
      reads.set(status, (reads.get(status) ?? 0) + 1);
    }
  }
  agent.destroy();
}

/** Returns the outcome of a request without a response. */
function outcomeOf(error: NodeJS.ErrnoException): 'failed' | 'unknown' {
  return error.code === 'ECONNREFUSED' ? 'failed' : 'unknown';
}
