import { execFileSync } from 'node:child_process';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { followHistories, PROGRAMS } from '../events/support/mirror';
import { once as query } from '../support/once';
import { type OwnServer, startOwnServer } from '../failure/support/own-server';
import { OrderExpiry } from '../../src/store-orders/order-expiry';
import { HELD_WITHOUT_ANIMAL, walkWithAnimals } from '../store-orders/support/animal-walks';
import { send } from '../support/http';
import { type ServiceHere, startHere } from '../support/start';
import { until } from '../support/until';
import { BuiltService } from './support/built-service';
import { expectInventory, FeedReader, RebuiltTables, settle, tablesOf } from './support/event-feed';
import { ALL_SCOPES, createKey } from './support/keys';
import { importAnimals, shop } from './support/shop';
import { mirrorOf, witness } from './support/witness.extension';

/** EVENTS_ROUNDS=full runs as many rounds as a release needs; they take some minutes. */
const isFull = process.env['EVENTS_ROUNDS'] === 'full';
const PAUSES = isFull ? 200 : 8;
/** Walks before each pause. */
const WALKS = 4;
const KILLS = isFull ? 20 : 3;
const HISTORIES = isFull ? 200 : 15;
const MAX_STEPS = 14;
const STAFF = ['pets:read', 'pets:manage', 'orders:manage', 'events:read'];
const CLIENTS = 8;
const MAX_LIFE_MS = 1_000;
const MAX_OUTAGE_MS = 300;

jest.setTimeout(3_600_000);

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

  it(`rebuilds animals and orders at ${PAUSES} pauses of walks of buyers, staff and an extension, whose responses some order of the requests explains`, async () => {
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
    const actors = [
      () => walkWithAnimals(subject, { numRuns: WALKS, maxSteps: MAX_STEPS }),
      () => changeMirrors(server.url()),
      () => expireOrders(server.url(), instances, buyers[0]!.key),
    ];
    for (let pause = 0; pause < PAUSES; pause += 1) {
      await Promise.all(actors.map((act) => act()));
      await settle(server.url());
      tables.apply(await reader.readAll());
      expect(tables.lines).toEqual(await tablesOf(server.url()));
      await expectInventory(url(), staff[0]!.key, server.url());
      expect(await query(server.url(), HELD_WITHOUT_ANIMAL)).toEqual([]);
    }
    const witnessed = await query<{ line: string }>(
      server.url(),
      `SELECT type || ' ' || row_id AS line FROM witness ORDER BY position`,
    );
    expect(byRow(reader.events.map(({ type, data }) => `${type} ${data.id}`))).toEqual(
      byRow(witnessed.map(({ line }) => line)),
    );
    process.stdout.write(`events: ${PAUSES * WALKS} walks, ${reader.events.length} events\n`);
  });

  it(`is followed by the example mirrors, with and without each client, through ${HISTORIES} random histories with a kill`, async () => {
    execFileSync('npm', ['run', '-s', 'build:client'], { stdio: 'inherit' });
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const urls = instances.map((instance) => instance.url);
    const store = { urls, key, query: (text: string) => query<never>(server.url(), text) };
    expect(await followHistories(store, HISTORIES, PROGRAMS)).toBe(HISTORIES);
  });
});

describe('the feed, with fsync on', () => {
  let server: OwnServer;
  let environment: Record<string, string>;
  const instances: BuiltService[] = [];
  let turn = 0;
  const url = () => instances[turn++ % 2]!.url;
  beforeAll(async () => {
    server = await startOwnServer({ durable: true });
    environment = { DATABASE_URL: server.url(), LOG_LEVEL: 'silent' };
    for (let at = 0; at < 2; at += 1) instances.push(await BuiltService.start(environment));
  });
  afterAll(async () => {
    for (const instance of instances) await instance.stop();
    await server.remove();
  });

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
      const clients = Array.from({ length: CLIENTS }, () => shop(url, key, ended.signal));
      const imports = importAnimals(environment, ended.signal);
      const following = reader.follow(ended.signal);
      await sleep(Math.random() * MAX_LIFE_MS);
      if (kill % 2 === 0) await killServer();
      else await instances[(kill >> 1) % 2]!.restart();
      await sleep(Math.random() * MAX_LIFE_MS);
      ended.abort();
      await Promise.all([...clients, imports]);
      await settle(server.url());
      await following;
      await reader.readAll();
      tables.apply(reader.events.slice(applied));
      applied = reader.events.length;
      expect(tables.lines).toEqual(await tablesOf(server.url()));
      await expectInventory(url(), key, server.url());
    }
    process.stdout.write(`events: ${KILLS} SIGKILLs, ${applied} events\n`);
    expect(applied).toBeGreaterThan(KILLS * CLIENTS);
  });

  it('has the events of transactions whose numbers PostgreSQL uses again after a SIGKILL', async () => {
    const key = await createKey(environment, { scopes: ALL_SCOPES });
    const reader = new FeedReader(url, key);
    const seen: string[] = [];
    const read = async () => {
      await settle(server.url());
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
