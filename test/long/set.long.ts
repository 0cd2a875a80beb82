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
const SHORTEST_LIFE_MS = 200;
const LONGEST_LIFE_MS = 1_200;
const LONGEST_OUTAGE_MS = 500;
const RETRY_AFTER_MS = 10;
const MOST_RECOVERY_MS = 1_000;

jest.setTimeout(600_000);

/** What the writers were told of each animal that they tried to add, by its unique name. */
interface Ledger {
  readonly acknowledged: Map<string, number>;
  /** A 503 that says that it is not done, or nobody there to ask. */
  readonly refused: Set<string>;
  /** No answer, or a 503 that says that it may be done or not. */
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

  /** @returns when it was back */
  async function killServer(): Promise<number> {
    await server.kill();
    await sleep(Math.random() * LONGEST_OUTAGE_MS);
    await server.start();
    return performance.now();
  }

  it(`in ${ROUNDS} rounds under ${WRITERS} writers keep what was acknowledged, and nothing that was refused`, async () => {
    const key = await createKey(environment);
    const ledger: Ledger = { acknowledged: new Map(), refused: new Set(), unknown: new Set() };
    const ended = new AbortController();
    const writers = Array.from({ length: WRITERS }, () =>
      write(() => service.url, key, ledger, ended.signal),
    );
    const backAt: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await sleep(SHORTEST_LIFE_MS + Math.random() * (LONGEST_LIFE_MS - SHORTEST_LIFE_MS));
      // Every third time the service, else PostgreSQL, in an order that nobody chose.
      if (Math.random() < 1 / 3) await killService();
      else backAt.push(await killServer());
    }
    await sleep(LONGEST_LIFE_MS);
    ended.abort();
    await Promise.all(writers);

    const rows = await query<{ name: string }>(server.url(), 'SELECT name FROM pets');
    const stored = new Set(rows.map(({ name }) => name));
    const { acknowledged, refused, unknown } = ledger;
    const lost = [...acknowledged.keys()].filter((name) => !stored.has(name));
    const present = [...refused].filter((name) => stored.has(name));
    const done = [...unknown].filter((name) => stored.has(name));
    const successes = [...acknowledged.values()].sort((one, other) => one - other);
    const recoveries = backAt.map((at) => (successes.find((success) => success > at) ?? Infinity) - at);
    process.stdout.write(
      `set: ${ROUNDS} rounds, ${backAt.length} of them PostgreSQL; acknowledged ${acknowledged.size}, lost ${lost.length}` +
        `; refused ${refused.size}, present ${present.length}; unknown ${unknown.size}, done ${done.length}` +
        `; first success after PostgreSQL is back ${Math.round(median(recoveries))} ms (median), ${Math.round(Math.max(...recoveries))} ms (longest)\n`,
    );
    expect(lost).toEqual([]);
    expect(present).toEqual([]);
    expect(stored.size).toBe(rows.length);
    expect(stored.size).toBe(acknowledged.size + done.length);
    expect(acknowledged.size).toBeGreaterThan(ROUNDS * WRITERS);
    expect(median(recoveries)).toBeLessThan(MOST_RECOVERY_MS);
  });
});

/** One client: adds animals one after the other, whatever becomes of each. */
async function write(
  url: () => string,
  key: string,
  { acknowledged, refused, unknown }: Ledger,
  ended: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  while (!ended.aborted) {
    const name = randomUUID();
    const body = { name, categoryId: 1 };
    const answer = await send(url(), 'POST', '/v1/pets', { key, body, agent }).catch(outcomeOf);
    if (answer === 'refused') refused.add(name);
    else if (answer === 'unknown' || isOutcomeUnknown(answer)) unknown.add(name);
    else if (answer.status === 201) acknowledged.set(name, performance.now());
    else if (answer.status === 503) refused.add(name);
    else throw new Error(`neither added nor refused: ${answer.text}`);
    if (!acknowledged.has(name)) await sleep(RETRY_AFTER_MS);
  }
  agent.destroy();
}

/** What a failure to send, or to receive an answer, says. */
function outcomeOf(error: NodeJS.ErrnoException): 'refused' | 'unknown' {
  return error.code === 'ECONNREFUSED' ? 'refused' : 'unknown';
}
