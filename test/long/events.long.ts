import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type OwnServer, query, startOwnServer } from '../failure/support/own-server';
import { OrderExpiry } from '../../src/store-orders/order-expiry';
import { walkWithAnimals } from '../store-orders/support/animal-walks';
import { send } from '../support/http';
import { runBuilt, running, type RunningService } from '../support/service';
import { type ServiceHere, startHere } from '../support/start';
import { until } from '../support/until';
import { FeedReader, isSettled, RebuiltTables, tablesOf } from './support/event-feed';
import { expectInventory, expectInventoryOfCopy } from './support/inventory';
import { ALL_SCOPES, createKey } from './support/keys';
import { importAnimals, shop } from './support/shop';
import { mirrorOf, witness } from './support/witness.extension';

/** EVENTS_ROUNDS=full runs as many rounds as a release needs; they take some minutes. */
const isFull = process.env['EVENTS_ROUNDS'] === 'full';
const WALKS = isFull ? 200 : 8;
const KILLS = isFull ? 20 : 3;
const RUNS = isFull ? 20 : 2;
const MAX_STEPS = 14;
const STAFF = ['pets:read', 'pets:manage', 'orders:manage', 'events:read'];
const WRITERS = 8;
/** Of one writer of a run. */
const TRANSACTIONS = 12;
const MAX_OPEN_MS = 60;
const MAX_LIFE_MS = 1_000;
const MAX_OUTAGE_MS = 300;
const SETTLED_MS = 30_000;

jest.setTimeout(900_000);

/** Works for the time of one walk. */
type Actor = () => Promise<unknown>;

describe('the feed of two instances', () => {
  let server: OwnServer;
  let environment: Record<string, string>;
  const instances: ServiceHere[] = [];
  beforeAll(async () => {
    server = await startOwnServer();
    // No request of a walk may time out.
    environment = { DATABASE_URL: server.url(), LOG_LEVEL: 'silent', DATABASE_POOL_WAIT_MS: '60000' };
    for (let at = 0; at < 2; at += 1) instances.push(await startHere(environment, { extensions: [witness] }));
  });
  afterAll(async () => {
    for (const instance of instances) await instance.stop();
    await server.remove();
  });
  let turn = 0;
  const url = () => instances[turn++ % 2]!.url;

  it(`rebuilds animals and orders at each pause of ${WALKS} walks of buyers, staff and an extension`, async () => {
    const keyOf = async (account: string, scopes?: string[]) => ({
      key: await createKey(environment, { account, ...(scopes && { scopes }) }),
    });
    const buyers = [await keyOf('shop'), await keyOf('zoo'), await keyOf('farm')];
    const staff = [await keyOf('the store', STAFF), await keyOf('the store', STAFF)];
    const subject = {
      buyers,
      staff,
      get url() {
        return url();
      },
    };
    const reader = new FeedReader(url, staff[0]!.key);
    const tables = new RebuiltTables();
    const actors: Actor[] = [
      () => walkWithAnimals(subject, { numRuns: 1, maxSteps: MAX_STEPS }),
      () => changeMirrors(server.url()),
      () => expireOrders(server.url(), instances, buyers[0]!.key),
    ];
    for (let walk = 0; walk < WALKS; walk += 1) {
      await Promise.all(actors.map((act) => act()));
      await until(() => isSettled(server.url()), SETTLED_MS);
      tables.apply(await reader.readAll());
      expect(tables.lines).toEqual(await tablesOf(server.url()));
      await expectInventory(url(), staff[0]!.key, server.url());
    }
    const witnessed = await query<{ line: string }>(
      server.url(),
      `SELECT type || ' ' || row_id AS line FROM witness ORDER BY position`,
    );
    expect(byRow(reader.events.map(({ type, data }) => `${type} ${data.id}`))).toEqual(
      byRow(witnessed.map(({ line }) => line)),
    );
    process.stdout.write(`events: ${WALKS} walks, ${reader.events.length} events\n`);
  });

  it(`has each event once and in one order for two readers, while ${WRITERS} writers commit out of order, in ${RUNS} of ${RUNS} runs`, async () => {
    const key = await createKey(environment, { account: 'the store', scopes: STAFF });
    const readers = instances.map((instance) => new FeedReader(() => instance.url, key));
    await Promise.all(readers.map((reader) => reader.readAll()));
    for (let run = 0; run < RUNS; run += 1) {
      const starts = readers.map(({ events }) => events.length);
      const ended = new AbortController();
      const following = readers.map((reader) => reader.follow(ended.signal));
      const writers = Array.from({ length: WRITERS }, (_, at) => write(server.url(), `${run} ${at}`));
      const committed = (await Promise.all(writers)).flat();
      await until(() => isSettled(server.url()), SETTLED_MS);
      ended.abort();
      await Promise.all(following);
      const [one, other] = readers.map(({ events }, at) => events.slice(starts[at]));
      expect(one).toEqual(other);
      expect(one!.every(({ id }, at) => at === 0 || one![at - 1]!.id < id)).toBe(true);
      expect(one!.map(({ data }) => String((data as { name?: string }).name)).toSorted()).toEqual(
        committed.toSorted(),
      );
    }
  });
});

describe('the feed, with fsync on', () => {
  let server: OwnServer;
  let environment: Record<string, string>;
  const instances: RunningService[] = [];
  const start = async () => running(runBuilt('main', [], environment));
  let turn = 0;
  const url = () => instances[turn++ % 2]!.url;
  beforeAll(async () => {
    server = await startOwnServer({ durable: true });
    environment = { DATABASE_URL: server.url(), LOG_LEVEL: 'silent' };
    for (let at = 0; at < 2; at += 1) instances.push(await start());
  });
  afterAll(async () => {
    for (const { child } of instances) child.kill('SIGTERM');
    for (const { ended } of instances) expect(await ended).toBe(0);
    await server.remove();
  });

  async function killInstance(at: number): Promise<void> {
    instances[at]!.child.kill('SIGKILL');
    await instances[at]!.ended;
    instances[at] = await start();
  }

  async function killServer(): Promise<void> {
    await server.kill();
    await sleep(Math.random() * MAX_OUTAGE_MS);
    await server.start();
  }

  it(`has each change once and no other, over ${KILLS} SIGKILLs of the service and PostgreSQL under load`, async () => {
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const reader = new FeedReader(url, key);
    const tables = new RebuiltTables();
    let applied = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const ended = new AbortController();
      const clients = Array.from({ length: WRITERS }, () => shop(url, key, ended.signal));
      const imports = importAnimals(environment, ended.signal);
      const following = reader.follow(ended.signal);
      await sleep(Math.random() * MAX_LIFE_MS);
      if (kill % 2 === 0) await killServer();
      else await killInstance((kill >> 1) % 2);
      await sleep(Math.random() * MAX_LIFE_MS);
      ended.abort();
      await Promise.all([...clients, imports]);
      await until(() => isSettled(server.url()).catch(() => false), SETTLED_MS);
      await following;
      await reader.readAll();
      tables.apply(reader.events.slice(applied));
      applied = reader.events.length;
      expect(tables.lines).toEqual(await tablesOf(server.url()));
      await expectInventory(url(), key, server.url());
      if (kill % 4 === 0) await expectInventoryOfCopy(server, `copy_${kill}`, key);
    }
    process.stdout.write(`events: ${KILLS} SIGKILLs, ${applied} events\n`);
    expect(applied).toBeGreaterThan(KILLS * WRITERS);
  });

  it('has the events of transactions whose numbers PostgreSQL uses again after a SIGKILL', async () => {
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const reader = new FeedReader(url, key);
    const seen: string[] = [];
    const read = async () => {
      await until(() => isSettled(server.url()), SETTLED_MS);
      seen.push(...(await reader.readAll()).map(({ data }) => (data as { name?: string }).name!));
    };
    const create = (name: string) =>
      until(async () => {
        const options = { key, body: { name, categoryId: 1 }, agent: new Agent() };
        return (await send(url(), 'POST', '/v1/pets', options)).status === 201;
      });
    const next = async () =>
      Number((await query<{ id: string }>(server.url(), 'SELECT pg_current_xact_id() AS id'))[0]!.id);
    await read();
    seen.length = 0;
    const names: string[] = [];
    // The service may commit a transaction of its own after them: then their numbers are on the disk.
    for (let isUsedAgain = false; !isUsedAgain;) {
      await query(
        server.url(),
        'DO $$ BEGIN FOR at IN 1..500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$',
      );
      const before = await next();
      await read();
      await killServer();
      isUsedAgain = (await next()) <= before;
      names.push(`animal ${names.length}`);
      await create(names.at(-1)!);
    }
    await read();
    expect(seen).toEqual(names);
  });
});

/** Sorts changes by their rows. The changes of one row keep their order. */
function byRow(lines: readonly string[]): string[] {
  const rowOf = (line: string) => line.replace(/^(\w+)\.\w+/, '$1');
  return lines.toSorted((one, other) => (rowOf(one) < rowOf(other) ? -1 : Number(rowOf(one) > rowOf(other))));
}

/** Changes many animals of the extension with few statements, and rolls some of them back. */
async function changeMirrors(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const end of ['COMMIT', 'ROLLBACK', 'COMMIT'])
      await client.query(`
        BEGIN;
        INSERT INTO pets (name, category_id, status) SELECT '${mirrorOf(0n)}', n, 'sold' FROM generate_series(1, 3) AS n;
        SAVEPOINT one;
        UPDATE pets SET category_id = -category_id WHERE name = '${mirrorOf(0n)}';
        DELETE FROM pets WHERE name = '${mirrorOf(0n)}' AND category_id < -1;
        ROLLBACK TO one;
        WITH added AS (
          INSERT INTO pets (name, category_id, status) VALUES ('${mirrorOf(0n)}', 9, 'sold') RETURNING id
        )
        UPDATE pets SET category_id = category_id + 1 WHERE name = '${mirrorOf(0n)}' AND category_id % 2 = 0;
        DELETE FROM pets WHERE name = '${mirrorOf(0n)}' AND category_id > 5;
        ${end}`);
  } finally {
    await client.end();
  }
}

/** Places orders and lets them expire in all instances. */
async function expireOrders(url: string, instances: readonly ServiceHere[], key: string): Promise<void> {
  const placed: number[] = [];
  for (const instance of instances) {
    const post = async (path: string, body: object): Promise<number> =>
      (await send(instance.url, 'POST', path, { key, body })).json.id;
    const petId = await post('/v1/pets', { name: 'Rex', categoryId: 1 });
    placed.push(await post('/v1/store/orders', { petId }));
  }
  await query(url, `UPDATE store_orders SET expires_at = now() WHERE id IN (${placed.join()})`);
  await Promise.all(instances.map(({ app }) => app.get(OrderExpiry, { strict: false }).run()));
}

/** Commits transactions that stay open for random times. @returns the names of the animals that it has added */
async function write(url: string, writer: string): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const insert = async (name: string) => {
    await client.query(`INSERT INTO pets (name, category_id, status) VALUES ($1, 1, 'sold')`, [name]);
    await sleep(Math.random() * MAX_OPEN_MS);
  };
  const committed: string[] = [];
  for (let at = 0; at < TRANSACTIONS; at += 1) {
    const names = [`${writer} ${at} a`, `${writer} ${at} b`];
    await client.query('BEGIN');
    // The number of the transaction is older than its events.
    if (at % 3 === 0) await client.query('SELECT pg_current_xact_id()');
    await sleep(Math.random() * MAX_OPEN_MS);
    for (const name of names) await insert(name);
    const isCommit = Math.random() < 0.8;
    await client.query(isCommit ? 'COMMIT' : 'ROLLBACK');
    if (isCommit) committed.push(...names);
  }
  await client.end();
  return committed;
}
