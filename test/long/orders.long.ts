import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { joinEmbedded } from '../../src/embedded-postgres';
import { type HttpResponse, send } from '../support/http';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';
import { walkAtRandom } from '../store-orders/support/walks';

const ROUNDS = 20;
const CLIENTS = 8;
const WALKS = 200;
const MIN_LIFE_MS = 100;
const MAX_LIFE_MS = 1_200;
const RETRY_AFTER_MS = 20;

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

  /** Creates a key of a new account, whose limits this spec does not reach. */
  async function createKey(): Promise<string> {
    const numbers = ['--per-minute', '1000000000', '--per-day', '1000000000'];
    const args = ['keys', 'create', '--account', randomUUID(), '--plan', 'enterprise', ...numbers, '--json'];
    const command = runBuilt('cli/main', args, environment);
    expect(await command.ended).toBe(0);
    return (JSON.parse(command.standardOutput()) as { key: string }).key;
  }

  async function withDatabase<T>(work: (database: Client) => Promise<T>): Promise<T> {
    const joined = await joinEmbedded({ dataDir: folder.path, dataDirIsExplicit: true, binDir: undefined });
    const client = new Client({ connectionString: joined!.url() });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  it(`are created exactly once if clients retry with their Idempotency-Key after each of ${ROUNDS} SIGKILLs`, async () => {
    const key = await createKey();
    const ended = new AbortController();
    const placedOrders: PlacedOrder[] = [];
    const counts = { retries: 0, replays: 0 };
    const order = async (petId: string): Promise<void> => {
      const response = await untilResponded(() => service.url, key, petId, counts);
      placedOrders.push({ petId, orderId: /"id":(\d+)/.exec(response.text)![1]! });
    };
    const animals = await withDatabase(async (database) => {
      const { rows } = await database.query<{ id: string }>(
        `INSERT INTO pets (name, category_id, status) SELECT 'animal', 1, 'available' FROM generate_series(1, 50000) RETURNING id`,
      );
      return rows.map(({ id }) => id);
    });
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!ended.signal.aborted) await order(animals.pop()!);
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      await sleep(MIN_LIFE_MS + Math.random() * (MAX_LIFE_MS - MIN_LIFE_MS));
      service.child.kill('SIGKILL');
      await service.ended;
      service = await running(runBuilt('main', [], environment));
    }
    ended.abort();
    await Promise.all(clients);

    const stored = await withDatabase(
      async (database) =>
        (
          await database.query<PlacedOrder>(
            `SELECT pet_id AS "petId", store_orders.id AS "orderId" FROM store_orders JOIN pets ON pets.id = pet_id
           WHERE pets.status = 'pending' AND store_orders.status = 'placed'`,
          )
        ).rows,
    );
    process.stdout.write(
      `orders: ${ROUNDS} rounds, responded ${placedOrders.length}, stored ${stored.length}, retries ${counts.retries}, replays ${counts.replays}\n`,
    );
    const lines = (rows: PlacedOrder[]) => rows.map(({ petId, orderId }) => `${petId} ${orderId}`).sort();
    expect(lines(stored)).toEqual(lines(placedOrders));
    expect(new Set(placedOrders.map(({ petId }) => petId)).size).toBe(placedOrders.length);
    expect(placedOrders.length).toBeGreaterThan(ROUNDS * CLIENTS);
  });

  it(`explain the status of every animal after ${WALKS} random walks`, async () => {
    const keys: string[] = [];
    for (let at = 0; at < CLIENTS; at += 1) keys.push(await createKey());
    const responded = await withDatabase(async (database) => {
      await database.query('TRUNCATE pets, store_orders');
      const query = async (text: string, parameters?: unknown[]) =>
        (await database.query<Record<string, unknown>>(text, parameters)).rows;
      return walkAtRandom({ url: service.url, keys, query }, WALKS);
    });
    process.stdout.write(`orders: ${WALKS} walks, responses by status ${JSON.stringify(responded)}\n`);
  });
});

/** Orders an animal and retries with the same Idempotency-Key until the response is 201. */
async function untilResponded(
  url: () => string,
  key: string,
  petId: string,
  counts: { retries: number; replays: number },
): Promise<HttpResponse> {
  const headers = { 'idempotency-key': randomUUID() };
  for (;;) {
    // A new connection: the killed service has closed the earlier ones.
    const agent = new Agent();
    const options = { key, headers, agent, body: `{"petId":${petId}}` };
    const response = await send(url(), 'POST', '/v1/store/orders', options).catch(() => undefined);
    if (response?.status === 201) {
      if (response.headers['idempotent-replayed'] === 'true') counts.replays += 1;
      return response;
    }
    const isAgain =
      response === undefined || response.status === 503 || response.json.code === 'idempotency_key_in_use';
    if (!isAgain) throw new Error(`not ordered: ${response.text}`);
    counts.retries += 1;
    await sleep(RETRY_AFTER_MS);
  }
}
