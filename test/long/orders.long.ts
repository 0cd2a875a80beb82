import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startEmbedded } from '../../src/embedded-postgres';
import { dataFolder } from '../support/service';
import { until } from '../support/until';
import { BuiltService } from './support/built-service';
import { createKey } from './support/keys';
import { postOnce } from './support/ledger';

const ROUNDS = 10;
const CLIENTS = 8;
const MIN_LIFE_MS = 100;
const MAX_LIFE_MS = 1_200;

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

  it(`are created exactly once if clients retry with their Idempotency-Key after each of ${ROUNDS} SIGKILLs`, async () => {
    const key = await createKey(environment);
    const ended = new AbortController();
    const placedOrders: PlacedOrder[] = [];
    let replays = 0;
    const animals = await rowsOf<{ id: string }>(
      `INSERT INTO pets (name, category_id, status) SELECT 'animal', 1, 'available' FROM generate_series(1, 50000) RETURNING id`,
    );
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!ended.signal.aborted) {
        const petId = animals.pop()!.id;
        const body = `{"petId":${petId}}`;
        const { headers, json } = await postOnce(() => service.url, key, '/v1/store/orders', body);
        if (headers['idempotent-replayed'] === 'true') replays += 1;
        placedOrders.push({ petId, orderId: String(json.id ?? json.code) });
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
      `orders: ${ROUNDS} rounds, responded ${placedOrders.length}, stored ${stored.length}, replays ${replays}\n`,
    );
    const lines = (rows: PlacedOrder[]) => rows.map(({ petId, orderId }) => `${petId} ${orderId}`).sort();
    expect(lines(stored)).toEqual(lines(placedOrders));
    expect(new Set(placedOrders.map(({ petId }) => petId)).size).toBe(placedOrders.length);
  });
});
