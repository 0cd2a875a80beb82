import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_SCOPES } from '../../src/app/store';
import { createSecret, storedFormOf } from '../../src/auth/keys/secret';
import { migrate, revert } from '../../src/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { createDatabase, type TestDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { migrations, schemaConfig } from '../support/schema-config';

const PREFIX = 'ask_test_';
const STAFF = [...DEFAULT_SCOPES, 'pets:manage', 'orders:manage'];
const PAST = '2026-11-20T12:00:00Z';
const FUTURE = '2036-11-20T12:00:00Z';

/** The migrations of the last release; `npm run openapi:release` writes them. */
const RELEASED: readonly string[] = JSON.parse(readFileSync(join(__dirname, 'released.json'), 'utf8'));

/** SHA-256 of the schema of version 1.1.0: later changes of its migrations must not change what they make. */
const RELEASED_SCHEMA = 'dc1f81db3f71bb898b669cff604b44c22b64c308487648997e10257c6596fe4b';

/** The last release does not use these parts once it runs. */
const UNUSED = [
  // Only the start of 1.1.0 with an extension uses them, and it rejects a newer schema.
  'column extension_migrations.up jsonb',
  'column extension_migrations.down jsonb',
];

/** Every row of the last release fulfils these. */
const FULFILLED = [
  // The other column is new, and has a default or stays null.
  'constraint api_keys CHECK ((cardinality(addresses) <= 20))',
  'constraint audit_entries CHECK (((os_user IS NULL) <> (made_by_key IS NULL)))',
];

/** Lists the parts that statements may use; the second one those that rows must fulfil. */
const USABLE = `
  SELECT format('column %s.%s %s', relname, attname, format_type(atttypid, atttypmod)) AS part
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
  UNION SELECT format('sequence %s', relname) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
  UNION SELECT format('function %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  -- For ON CONFLICT and FOR KEY SHARE.
  UNION SELECT format('unique %s %s', indrelid::regclass, regexp_replace(pg_get_indexdef(indexrelid), '.* USING ', ''))
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE indisunique AND relnamespace = 'public'::regnamespace
  UNION SELECT format('default %s.%s', relname, attname) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
      AND (atthasdef OR attidentity <> '' OR NOT attnotnull)`;
const REQUIRED = `
  SELECT relname AS of, format('constraint %s %s', relname, pg_get_constraintdef(k.oid)) AS part
    FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid WHERE relnamespace = 'public'::regnamespace AND contype <> 'n'
  UNION SELECT relname, format('unique %s', regexp_replace(pg_get_indexdef(indexrelid), '.* USING ', ''))
    FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE indisunique AND relnamespace = 'public'::regnamespace
  UNION SELECT relname, format('value of %s.%s', relname, attname) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
      AND attnotnull AND NOT atthasdef AND attidentity = ''`;

interface Schema {
  readonly usable: readonly string[];
  readonly required: readonly { readonly of: string; readonly part: string }[];
}

/** Lists what a schema no longer has, and what it newly asks of rows in tables that existed. */
function missingIn(after: Schema, before: Schema): string[] {
  const had = new Set(before.required.map(({ part }) => part));
  const tables = new Set(before.usable.map((part) => /^column (\w+)\./.exec(part)?.[1]));
  return [
    ...before.usable.filter((part) => !after.usable.includes(part)),
    ...after.required.filter(({ of, part }) => tables.has(of) && !had.has(part)).map(({ part }) => part),
  ];
}

/** The columns that 1.1.0 writes. */
const KEYS = {
  staff: { account_id: 2, scopes: STAFF },
  buyer: { account_id: 3 },
  replaced: { account_id: 3 },
  revoked: { account_id: 3, revoked_at: PAST },
  expired: { account_id: 3, expires_at: PAST },
  banned: { account_id: 8, banned_at: PAST, banned_until: FUTURE },
  lifted: { account_id: 8, banned_at: PAST, banned_until: FUTURE, unbanned_at: PAST },
};

const ROWS = `
  INSERT INTO accounts (id, name, plan, per_minute, per_day) OVERRIDING SYSTEM VALUE
  VALUES (2, 'shop', 'business', NULL, NULL), (3, 'buyer', 'pro', NULL, NULL), (8, 'tiny', 'enterprise', 2, 1000);
  ALTER TABLE accounts ALTER id RESTART WITH 11;
  INSERT INTO pets (name, category_id, status)
  SELECT 'Pet ' || n || ' ☃', CASE n WHEN 3 THEN 9007199254740993 ELSE n END,
    ('{pending,pending,sold,available,available,pending}'::text[])[n] FROM generate_series(1, 6) AS n;
  INSERT INTO store_orders (account_id, pet_id, status, placed_at, updated_at)
  SELECT 3, n, ('{placed,approved,delivered,cancelled}'::text[])[n], '${PAST}', '${PAST}' FROM generate_series(1, 4) AS n;
  DELETE FROM pets WHERE id = 4;
  -- The response to POST /v1/store/orders with the key order-1.
  INSERT INTO idempotency_keys VALUES (
    '\\x64c3cdb556027c5571c1e5fadf910f3e7bb14797c1aee083e9be584baa3270a4',
    '\\x183faca88aa359c953ce42589dfc6ccb7b32565cdfc01e08bff0aa6ffcaea881', 201, '/v1/store/orders/6',
    '{"id":6,"petId":6,"status":"placed","placedAt":"${PAST}","updatedAt":"${PAST}"}', '2026-11-21T11:00:00Z');
  INSERT INTO rate_limit_counters
  VALUES ('account:8', 1, '2026-11-21T12:01:00Z', 7, '2026-11-22T00:00:00Z');
  INSERT INTO external_key_bans VALUES ('token 7', '${PAST}', '${FUTURE}');
  INSERT INTO audit_entries (command, account, details, os_user) VALUES ('keys create', 'shop', 'plan business', 'root')`;

describe('a database of version 1.1.0', () => {
  let database: TestDatabase;
  let app: TestApp;
  let released: Schema;
  const secrets: Record<string, string> = { before: createSecret(PREFIX), leaked: createSecret(PREFIX) };
  const key = (name: string) => ({ key: secrets[name]! });
  const schema = async (): Promise<Schema> => ({
    usable: (await database.query<{ part: string }>(USABLE)).map(({ part }) => part),
    required: await database.query<{ of: string; part: string }>(REQUIRED),
  });

  beforeAll(async () => {
    database = await createDatabase('template0');
    const own = migrations.filter(({ name }) => RELEASED.includes(name));
    expect(own).toHaveLength(RELEASED.length);
    await migrate({ ...schemaConfig(database.url), migrations: own });
    released = await schema();
    const parts = [...released.usable, ...released.required.map(({ part }) => part)].toSorted();
    expect(hash('sha256', parts.join('\n'))).toBe(RELEASED_SCHEMA);
    for (const statement of ROWS.split(';\n')) await database.query(statement);
    for (const [label, columns] of Object.entries(KEYS)) {
      const secret = createSecret(PREFIX);
      secrets[label] = secret;
      const { secretHash, prefix, lastFour } = storedFormOf(secret, PREFIX);
      const written = { label, scopes: DEFAULT_SCOPES, prefix, last_four: lastFour, created_at: PAST };
      const row = { ...written, ...columns };
      const names = Object.keys(row).join();
      await database.query(
        `INSERT INTO api_keys (secret_hash, ${names})
         SELECT $1, ${names} FROM jsonb_populate_record(NULL::api_keys, $2)`,
        [secretHash, JSON.stringify(row)],
      );
    }
    for (const [name, until] of Object.entries({ before: FUTURE, leaked: PAST })) {
      await database.query(
        `INSERT INTO rotated_secrets SELECT $1, id, $2 FROM api_keys WHERE label = 'replaced'`,
        [storedFormOf(secrets[name]!, PREFIX).secretHash, until],
      );
    }
    await migrate(schemaConfig(database.url));
    app = await startApp({}, { database });
  });
  afterAll(() => app.close());

  it('keeps all that the last release uses, and asks no more of its rows', async () => {
    const known = new Set([...UNUSED, ...FULFILLED]);
    expect(missingIn(await schema(), released).filter((part) => !known.has(part))).toEqual([]);
  });

  it('keeps its animals, which are found, counted and changed', async () => {
    const { json } = await app.get('/v1/pets?limit=10', key('buyer'));
    expect(json.map(({ id }: { id: number }) => id)).toEqual([1, 2, 3, 5, 6]);
    const large = await app.get('/v1/pets/3', key('buyer'));
    expect(large.text).toBe('{"id":3,"name":"Pet 3 ☃","categoryId":9007199254740993,"status":"sold"}');
    const inventory = await app.get('/v1/store/inventory', key('buyer'));
    const counts = await database.query(
      'SELECT jsonb_object_agg(status, count) AS counts FROM (SELECT status, count(*)::int FROM pets GROUP BY status) AS s',
    );
    expect([{ counts: inventory.json }]).toEqual(counts);
    const changed = await app.send('PATCH', '/v1/pets/5', { body: { name: 'Rex' }, ...key('staff') });
    expect(changed.json).toMatchObject({ id: 5, name: 'Rex' });
  });

  it('keeps its orders with their accounts, and open ones are approved and cancelled', async () => {
    const { json } = await app.get('/v1/store/orders?account=buyer', key('staff'));
    const statuses = json.map(({ status }: { status: string }) => status);
    expect(statuses.join()).toBe('placed,approved,delivered,cancelled');
    expect(json[3]).toMatchObject({ petId: 4, account: 'buyer', placedAt: new Date(PAST).toISOString() });
    const patch = (path: string, status: string, name: string) =>
      app.send('PATCH', path, { body: { status }, ...key(name) });
    expect((await patch('/v1/store/orders/1', 'approved', 'staff')).status).toBe(200);
    expect((await patch('/v1/store/orders/2', 'cancelled', 'staff')).status).toBe(200);
    expect((await app.get('/v1/pets/2', key('buyer'))).json.status).toBe('available');
    const ordered = await app.post('/v1/store/orders', { petId: 5 }, key('buyer'));
    expect(ordered.json).toMatchObject({ id: 5, petId: 5, status: 'placed' });
  });

  it('keeps its keys, also revoked, expired, rotated and banned ones, with their windows', async () => {
    const ask = (name: string) => app.get('/v1/pets?limit=1', key(name));
    for (const name of ['staff', 'buyer', 'replaced', 'before', 'lifted'])
      expect([name, (await ask(name)).status]).toEqual([name, 200]);
    for (const name of ['revoked', 'leaked']) expectError(await ask(name), 401, 'revoked_api_key');
    expectError(await ask('expired'), 401, 'expired_api_key');
    expectError(await ask('banned'), 429, 'api_key_banned');
    const { limits } = (await app.get('/v1/key', key('lifted'))).json;
    expect([limits.minute.remaining, limits.day.remaining]).toEqual([0, 992]);
  });

  it('repeats the response to an Idempotency-Key of that version', async () => {
    // It has no `expiresAt`.
    const options = { headers: { 'idempotency-key': 'order-1' }, isDocumented: false, ...key('buyer') };
    const replayed = await app.post('/v1/store/orders', '{"petId":6}', options);
    expect(replayed).toMatchObject({
      status: 201,
      headers: { 'idempotent-replayed': 'true' },
      json: { id: 6 },
    });
  });

  it('can go back to that version', async () => {
    await app.restart(async () => {
      const config = schemaConfig(database.url);
      await database.query('DELETE FROM rate_limit_instances');
      const newer = migrations.map(({ name }) => name).filter((name) => !RELEASED.includes(name));
      for (const name of newer.toReversed()) expect(await revert(config)).toEqual([name]);
      expect((await migrate(config)).applied).toEqual(newer);
    });
    expectError(await app.get('/v1/pets', key('banned')), 429, 'api_key_banned');
    expect((await app.get('/v1/pets/6', key('buyer'))).json.name).toBe('Pet 6 ☃');
  });
});
