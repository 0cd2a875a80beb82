import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startEmbedded } from '../../src/embedded-postgres';
import { HELD_WITHOUT_ANIMAL, walkWithAnimals } from '../store-orders/support/animal-walks';
import { type HttpResponse, type RequestOptions, send } from '../support/http';
import { dataFolder } from '../support/service';
import { until } from '../support/until';
import { BuiltService } from './support/built-service';
import { createKey } from './support/keys';

const ROUNDS = 10;
const CLIENTS = 8;
const MIN_LIFE_MS = 100;
const MAX_LIFE_MS = 1_200;
const RETRY_AFTER_MS = 50;
const WALKS = { numRuns: 200, maxSteps: 14 };
const STAFF = ['pets:read', 'pets:manage', 'orders:manage'];

jest.setTimeout(600_000);

/** One order of a client, with the id from the response. */
interface PlacedOrder {
  readonly petId: string;
  readonly orderId: string;
}

describe('orders, with fsync on', () => {
  const folder = dataFolder();
  const environment = {
    DATA_DIR: folder.path,
    LOG_LEVEL: 'silent',
    // No request of a walk may time out on a slow disk.
    DATABASE_POOL_WAIT_MS: '60000',
    // A fast machine places more than the default between two SIGKILLs.
    ORDERS_MAX_OPEN_PER_ACCOUNT: '0',
  };
  let service: BuiltService;
  beforeAll(async () => {
    service = await BuiltService.start(environment);
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  async function rowsOf<Row extends object>(text: string): Promise<Row[]> {
    const joined = await startEmbedded({ dataDir: folder.path, purpose: 'command' });
    const client = new Client({ connectionString: joined.url() });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  it(`and animals have responses that some order of the requests explains, in ${WALKS.numRuns} random walks of buyers and staff`, async () => {
    const buyers = [];
    for (const account of ['shop', 'zoo', 'farm'])
      buyers.push({ account, isStaff: false, key: await createKey(environment, { account }) });
    const staff = [];
    for (const account of ['the store', 'the store'])
      staff.push({ account, isStaff: true, key: await createKey(environment, { account, scopes: STAFF }) });
    const counts = await walkWithAnimals({ url: service.url, buyers, staff }, WALKS);
    process.stdout.write(`animals: ${WALKS.numRuns} walks, responses by status ${JSON.stringify(counts)}\n`);
    expect(await rowsOf(HELD_WITHOUT_ANIMAL)).toEqual([]);
  });

  it(`are created exactly once if clients retry with their Idempotency-Key after each of ${ROUNDS} SIGKILLs`, async () => {
    const key = await createKey(environment);
    const ended = new AbortController();
    const placedOrders: PlacedOrder[] = [];
    const counts = { retries: 0, replays: 0 };
    const animals = await rowsOf<{ id: string }>(
      `INSERT INTO pets (name, category_id, status) SELECT 'animal', 1, 'available' FROM generate_series(1, 50000) RETURNING id`,
    );
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!ended.signal.aborted) {
        const petId = animals.pop()!.id;
        const headers = { 'idempotency-key': randomUUID() };
        const options = { key, headers, body: `{"petId":${petId}}` };
        const response = await placed(() => service.url, options, counts);
        if (response.headers['idempotent-replayed'] === 'true') counts.replays += 1;
        placedOrders.push({ petId, orderId: /"id":(\d+)/.exec(response.text)![1]! });
      }
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      await until(() => placedOrders.length > (round + 1) * CLIENTS);
      await sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
      await service.restart();
    }
    ended.abort();
    await Promise.all(clients);

    const stored = await rowsOf<PlacedOrder>(
      `SELECT pet_id AS "petId", store_orders.id AS "orderId" FROM store_orders JOIN pets ON pets.id = pet_id
       WHERE name = 'animal' AND pets.status = 'pending' AND store_orders.status = 'placed'`,
    );
    process.stdout.write(
      `orders: ${ROUNDS} rounds, responded ${placedOrders.length}, stored ${stored.length}, retries ${counts.retries}, replays ${counts.replays}\n`,
    );
    const lines = (rows: PlacedOrder[]) => rows.map(({ petId, orderId }) => `${petId} ${orderId}`).sort();
    expect(lines(stored)).toEqual(lines(placedOrders));
    expect(new Set(placedOrders.map(({ petId }) => petId)).size).toBe(placedOrders.length);
  });
});

/** Repeats an order as long as the service is not there, or still works on it. */
async function placed(
  url: () => string,
  options: RequestOptions,
  counts: { retries: number },
): Promise<HttpResponse> {
  for (;;) {
    // A new connection: the killed service has closed the earlier ones.
    const asking = { ...options, agent: new Agent() };
    const response = await send(url(), 'POST', '/v1/store/orders', asking).catch(() => undefined);
    if (response?.status === 201) return response;
    const isAgain =
      response === undefined || response.status === 503 || response.json.code === 'idempotency_key_in_use';
    if (!isAgain) throw new Error(`not placed: ${response.text}`);
    counts.retries += 1;
    await sleep(RETRY_AFTER_MS);
  }
}
