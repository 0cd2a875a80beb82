import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startEmbedded } from '../../src/embedded-postgres';
import { type HttpResponse, type RequestOptions, send } from '../support/http';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';
import { ALL_SCOPES, createKey } from './support/keys';

const ROUNDS = 10;
const CLIENTS = 8;
/** After one of so many orders the ordered animal is changed, after another one a further animal is removed. */
const ORDERS_PER_CHANGE = 4;
const MIN_LIFE_MS = 100;
const MAX_LIFE_MS = 1_200;
const RETRY_AFTER_MS = 50;

jest.setTimeout(600_000);

/** One order of a client, with the id from the response. */
interface PlacedOrder {
  readonly petId: string;
  readonly orderId: string;
}

describe('orders, with fsync on', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  let service: RunningService;
  beforeEach(async () => {
    service = await running(runBuilt('main', [], environment));
  });
  afterEach(async () => {
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });
  afterAll(folder.remove);

  async function withDatabase<T>(work: (database: Client) => Promise<T>): Promise<T> {
    const joined = await startEmbedded({ dataDir: folder.path, binDir: undefined, purpose: 'command' });
    const client = new Client({ connectionString: joined.url() });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  it(`are created exactly once if clients retry with their Idempotency-Key after each of ${ROUNDS} SIGKILLs; changes and removals of animals last`, async () => {
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const ended = new AbortController();
    const placedOrders: PlacedOrder[] = [];
    const changed: string[] = [];
    const removed: string[] = [];
    const counts = { retries: 0, replays: 0 };
    const request = (method: string, path: string, options: RequestOptions, isDone: Done) =>
      untilDone(() => service.url, method, path, { key, ...options }, isDone, counts);
    const order = async (petId: string): Promise<void> => {
      const options = { headers: { 'idempotency-key': randomUUID() }, body: `{"petId":${petId}}` };
      const response = await request('POST', '/v1/store/orders', options, ({ status }) => status === 201);
      if (response.headers['idempotent-replayed'] === 'true') counts.replays += 1;
      placedOrders.push({ petId, orderId: /"id":(\d+)/.exec(response.text)![1]! });
    };
    const change = async (petId: string): Promise<void> => {
      await request(
        'PATCH',
        `/v1/pets/${petId}`,
        { body: { name: 'changed' } },
        ({ status }) => status === 200,
      );
      changed.push(petId);
    };
    const remove = async (petId: string): Promise<void> => {
      // 404: an earlier request without a response has removed the animal.
      const isRemoved: Done = ({ status }, isRetry) => status === 204 || (isRetry && status === 404);
      await request('DELETE', `/v1/pets/${petId}`, {}, isRemoved);
      removed.push(petId);
    };
    const animals = await withDatabase(async (database) => {
      const { rows } = await database.query<{ id: string }>(
        `INSERT INTO pets (name, category_id, status) SELECT 'animal', 1, 'available' FROM generate_series(1, 50000) RETURNING id`,
      );
      return rows.map(({ id }) => id);
    });
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (let turn = 0; !ended.signal.aborted; turn += 1) {
        const petId = animals.pop()!;
        await order(petId);
        if (turn % ORDERS_PER_CHANGE === 0) await change(petId);
        if (turn % ORDERS_PER_CHANGE === 1) await remove(animals.pop()!);
      }
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      await sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
      service.child.kill('SIGKILL');
      await service.ended;
      service = await running(runBuilt('main', [], environment));
    }
    ended.abort();
    await Promise.all(clients);

    const [stored, notChanged, notRemoved] = await withDatabase(async (database) => {
      const rows = async (text: string, parameters?: unknown[]) =>
        (await database.query<PlacedOrder>(text, parameters)).rows;
      return [
        await rows(
          `SELECT pet_id AS "petId", store_orders.id AS "orderId" FROM store_orders JOIN pets ON pets.id = pet_id
           WHERE pets.status = 'pending' AND store_orders.status = 'placed'`,
        ),
        await rows(`SELECT id FROM pets WHERE (name = 'changed') <> (id = ANY($1))`, [changed]),
        await rows('SELECT id FROM pets WHERE id = ANY($1)', [removed]),
      ];
    });
    process.stdout.write(
      `orders: ${ROUNDS} rounds, responded ${placedOrders.length}, stored ${stored.length}, retries ${counts.retries}, replays ${counts.replays}; animals changed ${changed.length}, removed ${removed.length}\n`,
    );
    expect(notChanged).toEqual([]);
    expect(notRemoved).toEqual([]);
    expect(Math.min(changed.length, removed.length)).toBeGreaterThan(ROUNDS);
    const lines = (rows: PlacedOrder[]) => rows.map(({ petId, orderId }) => `${petId} ${orderId}`).sort();
    expect(lines(stored)).toEqual(lines(placedOrders));
    expect(new Set(placedOrders.map(({ petId }) => petId)).size).toBe(placedOrders.length);
    expect(placedOrders.length).toBeGreaterThan(ROUNDS * CLIENTS);
  });
});

/** True if a response ends the retries. */
type Done = (response: HttpResponse, isRetry: boolean) => boolean;

/** Repeats a request as long as the service is not there, or still works on it. */
async function untilDone(
  url: () => string,
  method: string,
  path: string,
  options: RequestOptions,
  isDone: Done,
  counts: { retries: number },
): Promise<HttpResponse> {
  for (let isRetry = false; ; isRetry = true) {
    // A new connection: the killed service has closed the earlier ones.
    const agent = new Agent();
    const response = await send(url(), method, path, { ...options, agent }).catch(() => undefined);
    if (response && isDone(response, isRetry)) return response;
    const isAgain =
      response === undefined || response.status === 503 || response.json.code === 'idempotency_key_in_use';
    if (!isAgain) throw new Error(`not done: ${response.text}`);
    counts.retries += 1;
    await sleep(RETRY_AFTER_MS);
  }
}
