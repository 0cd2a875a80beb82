import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { once as query } from '../support/once';
import { type OwnServer, startOwnServer } from '../failure/support/own-server';
import { send } from '../support/http';
import { until } from '../support/until';
import { BuiltService } from './support/built-service';
import { ALL_SCOPES, createKey } from './support/keys';
import { AnimalLedger, changedName, outcomeOf } from './support/ledger';
import { median } from './support/median';

/** EVENTS_ROUNDS=full runs as many rounds as a release needs. */
const isFull = process.env['EVENTS_ROUNDS'] === 'full';
const MIN_ROUNDS = isFull ? 30 : 12;
/** In all rounds together. */
const MIN_ACKNOWLEDGED = isFull ? 25_000 : 10_000;
/** One of so many rounds kills the service, the others kill PostgreSQL. */
const ROUNDS_OF_SERVICE = 3;
const WRITERS = 3;
/** Concurrent creations of a writer: some wait for others and are joined, also if the service is much faster than this process. */
const BURST = 16;
/** Most acknowledged creations of a round; then it ends. */
const MAX_PER_ROUND = 1_700;
/** One of so many creations is read afterwards. */
const CREATIONS_PER_READ = 4;
/** A guard against hanging. */
const MAX_ROUND_MS = 120_000;
/** After one of so many creations an animal is changed, after another one removed. */
const CREATIONS_PER_CHANGE = 16;
const MAX_OUTAGE_MS = 500;
const RETRY_AFTER_MS = 50;
const MAX_RECOVERY_MS = 1_000;

jest.setTimeout(1_200_000);

/** The writes of all writers. */
interface Writes {
  readonly ledger: AnimalLedger;
  /** The time of each acknowledged creation. */
  readonly acknowledged: number[];
  /** The acknowledged animals that were read, by the status of the response; 0 for none. */
  readonly reads: Map<number, number>;
}

describe('PostgreSQL and the service, killed at random, with fsync on', () => {
  let server: OwnServer;
  let service: BuiltService;
  let environment: Record<string, string>;
  beforeAll(async () => {
    server = await startOwnServer({ durable: true });
    environment = { DATABASE_URL: server.url(), LOG_LEVEL: 'silent' };
    service = await BuiltService.start(environment);
  });
  afterAll(async () => {
    await service.stop();
    await server.remove();
  });

  /** @returns the time of its next start */
  async function killServer(): Promise<number> {
    await server.kill();
    await sleep(Math.random() * MAX_OUTAGE_MS);
    await server.start();
    return performance.now();
  }

  it(`keep ${MIN_ACKNOWLEDGED} acknowledged animals, their changes and removals, and nothing that failed, with ${WRITERS} writers of ${BURST} concurrent creations`, async () => {
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const ledger = new AnimalLedger();
    const writes: Writes = { ledger, acknowledged: [], reads: new Map() };
    const { acknowledged, reads } = writes;
    const ended = new AbortController();
    const writers = Array.from({ length: WRITERS }, () =>
      write(() => service.url, key, writes, ended.signal),
    );
    const written = (count: number) => {
      const before = acknowledged.length;
      return until(() => acknowledged.length - before >= count, MAX_ROUND_MS);
    };
    const backAt: number[] = [];
    let rounds = 0;
    for (; rounds < MIN_ROUNDS || acknowledged.length < MIN_ACKNOWLEDGED; rounds += 1) {
      await written(Math.random() * MAX_PER_ROUND);
      if (rounds % ROUNDS_OF_SERVICE === 0) await service.restart();
      else backAt.push(await killServer());
    }
    await written(1);
    ended.abort();
    await Promise.all(writers);

    const rows = await query<{ name: string; transaction: string }>(
      server.url(),
      'SELECT name, xmin::text AS transaction FROM pets',
    );
    const faults = ledger.faults(rows.map(({ name }) => name));
    const transactions = new Set(rows.map(({ transaction }) => transaction)).size;
    const recoveries = backAt.map((at) => (acknowledged.find((success) => success > at) ?? Infinity) - at);
    process.stdout.write(
      `set: ${rounds} rounds, ${backAt.length} of them PostgreSQL; ${ledger.summary}; not as acknowledged ${faults.length}` +
        `; ${rows.length} animals in ${transactions} transactions; reads of acknowledged animals by status ${JSON.stringify(Object.fromEntries(reads))}` +
        `; first success after PostgreSQL is back ${Math.round(median(recoveries))} ms (median), ${Math.round(Math.max(...recoveries))} ms (longest)\n`,
    );
    expect(faults).toEqual([]);
    expect(transactions).toBeLessThan(rows.length / 2);
    expect(reads.get(404)).toBeUndefined();
    expect(reads.get(200)).toBeGreaterThan(acknowledged.length / CREATIONS_PER_READ / 2);
    expect(median(recoveries)).toBeLessThan(MAX_RECOVERY_MS);
  });
});

/** Adds bursts of animals until `ended`; reads, changes or removes some, and records the outcomes. */
async function write(
  url: () => string,
  key: string,
  { ledger, acknowledged, reads }: Writes,
  ended: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const request = (method: string, path: string, body?: object) =>
    send(url(), method, path, { key, body, agent });
  const add = async (): Promise<void> => {
    const name = randomUUID();
    const created = request('POST', '/v1/pets', { name, categoryId: 1 });
    const outcome = await outcomeOf(created, 201);
    ledger.record(name, 'added', outcome);
    if (outcome !== 'done') return sleep(RETRY_AFTER_MS);
    acknowledged.push(performance.now());
    const count = acknowledged.length;
    const { headers, text } = await created;
    const path = headers.location!;
    if (count % CREATIONS_PER_READ === 0) {
      const read = await request('GET', path).catch(() => undefined);
      if (read?.status === 200) expect(read.text).toBe(text);
      const status = read?.status ?? 0;
      reads.set(status, (reads.get(status) ?? 0) + 1);
    }
    if (count % CREATIONS_PER_CHANGE === 1)
      ledger.record(
        name,
        'changed',
        await outcomeOf(request('PATCH', path, { name: changedName(name) }), 200),
      );
    if (count % CREATIONS_PER_CHANGE === 2)
      ledger.record(name, 'absent', await outcomeOf(request('DELETE', path), 204));
  };
  while (!ended.aborted) await Promise.all(Array.from({ length: BURST }, add));
  agent.destroy();
}
