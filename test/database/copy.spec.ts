import { Client } from 'pg';
import { createApp } from '../../src/app/create-app';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/platform/config/config';
import type { CopiedTable } from '../../src/platform/database/copy/fill-database';
import { CopySource } from '../../src/platform/database/copy/copy-source';
import { createLogger } from '../../src/platform/logging/logger';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, type TestDatabase } from '../support/database';
import { fillPets, moveSequence } from '../support/factories';
import { send } from '../support/http';
import { until } from '../support/until';
import { contentOf, copy } from './support/copying';

/** Characters that COPY's text format escapes, and characters with more than one code point. */
const NAME = '\\t \\N \\. "quoted", back\\slash\\ — 猫 🐈‍⬛ \u2028 \u00a0';
const LARGE_ID = 9_007_199_254_740_993n;

describe('copying a database', () => {
  let app: TestApp;
  let target: TestDatabase;
  beforeAll(async () => {
    app = await startApp();
  });
  beforeEach(async () => {
    target = await createDatabase('template0');
  });
  afterEach(() => target.drop());
  afterAll(() => app.close());

  /** Adds a row to every table that is empty in a new database. */
  async function fillTables(): Promise<void> {
    await app.post('/v1/pets', { name: NAME, categoryId: -1 });
    await moveSequence(app, 'pets', LARGE_ID);
    const { text } = await app.post('/v1/pets', { name: 'Rex', categoryId: 3 });
    expect(text).toContain(`"id":${LARGE_ID}`);
    await app.createKey({ label: NAME, scopes: ['pets:read', 'orders:read'] });
    await app.database.query(`
      INSERT INTO rotated_secrets SELECT sha256('old'), id, now() FROM api_keys LIMIT 1;
      INSERT INTO store_orders (account_id, pet_id, status, placed_at)
      SELECT account_id, ${LARGE_ID}, 'placed', '2026-11-21 12:00:00.123456Z' FROM api_keys LIMIT 1`);
    // The API rejects control characters, but older rows may contain them.
    await app.database.query('INSERT INTO pets (name, category_id, status) VALUES ($1, 0, $2)', [
      'tab\t line\n return\r backspace\b escape\u001b',
      'sold',
    ]);
  }

  it('copies every row of every table, and the exact position of every sequence', async () => {
    await fillTables();
    // No order has this id yet.
    await moveSequence(app, 'store_orders', LARGE_ID);
    const reported: CopiedTable[] = [];
    let copied: readonly CopiedTable[] = [];
    await app.restart(async () => {
      copied = await copy(app.database, target, (table) => reported.push(table));
      const expected = await contentOf(app.database);
      expect(await contentOf(target)).toEqual(expected);
      const tables = Object.keys(expected).filter((name) => !name.endsWith('_seq'));
      expect(copied.map(({ table }) => table).toSorted()).toEqual(tables);
      for (const { table, rows } of copied) expect(expected[table]).toHaveLength(rows);
    });
    expect(reported).toEqual(copied);
    expect(copied.length).toBeGreaterThan(6);
  });

  it('continues with the same keys and counters, and the next animal gets the next id', async () => {
    const before = await app.post('/v1/pets', { name: 'Rex', categoryId: 3 });
    await app.restart(async () => void (await copy(app.database, target)));
    const config = { ...readConfig({ LOG_LEVEL: 'silent' }), databaseUrl: target.url };
    const moved = await createApp(config, createLogger(config), createStore(), app.clock);
    await moved.listen(0, '127.0.0.1');
    const body = { name: 'Mimi', categoryId: 3 };
    const after = await send(await moved.getUrl(), 'POST', '/v1/pets', { key: app.key, body });
    await moved.close();
    const idOf = ({ text }: { text: string }) => BigInt(/"id":(\d+)/.exec(text)![1]!);
    expect(idOf(after)).toBe(idOf(before) + 1n);
    expect(Number(after.headers['x-ratelimit-remaining'])).toBe(
      Number(before.headers['x-ratelimit-remaining']) - 1,
    );
  });

  it('has the state of one moment: rows written during the copy are not in it', async () => {
    const before = await contentOf(app.database);
    const writer = new Client({ connectionString: app.database.url });
    await writer.connect();
    await writer.query('BEGIN; LOCK TABLE pets');
    const copying = copy(app.database, target);
    await until(async () => (await app.database.query(WAITING_COPIES)).length === 1);
    await writer.query(`INSERT INTO pets (name, category_id, status) VALUES ('late', 1, 'sold'); COMMIT`);
    await writer.end();
    await copying;
    expect((await contentOf(target))['pets']).toEqual(before['pets']);
  });

  it('ignores the timeouts of roles and databases', async () => {
    await fillPets(app, 100_000);
    for (const database of [app.database, target]) {
      const name = new URL(database.url).pathname.slice(1);
      await database.query(`ALTER DATABASE ${name} SET statement_timeout = '100ms'`);
      await database.query(`ALTER DATABASE ${name} SET idle_in_transaction_session_timeout = '250ms'`);
    }
    // Both transactions are idle for a time, as one is while the other database counts the rows of a large table.
    const pause = new Int32Array(new SharedArrayBuffer(4));
    const copied = await copy(app.database, target, ({ table }) => {
      if (table === 'pets') Atomics.wait(pause, 0, 0, 600);
    });
    expect(copied.find(({ table }) => table === 'pets')?.rows).toBeGreaterThanOrEqual(100_000);
  });
});

const WAITING_COPIES = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND query LIKE 'COPY%' AND wait_event_type = 'Lock'`;

describe('the tables of a copied database', () => {
  it('are sorted by their references, not by name, and have no generated columns', async () => {
    const database = await createDatabase('template0');
    await database.query(`
      CREATE TABLE "Z last" (id bigint PRIMARY KEY, parent bigint REFERENCES "Z last",
                             twice bigint GENERATED ALWAYS AS (id * 2) STORED);
      CREATE TABLE m (id bigint PRIMARY KEY REFERENCES "Z last");
      CREATE TABLE a (one bigint REFERENCES m, gone text, other bigint REFERENCES "Z last");
      ALTER TABLE a DROP COLUMN gone;
      CREATE TABLE parted (id bigint PRIMARY KEY) PARTITION BY HASH (id);
      CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0)`);
    const source = await CopySource.open(database.url);
    expect(await source.tables()).toEqual([
      { table: '"Z last"', columns: 'id, parent' },
      { table: 'parted', columns: 'id' },
      { table: 'm', columns: 'id' },
      { table: 'a', columns: 'one, other' },
    ]);
    await source.close();
    await database.drop();
  });
});
