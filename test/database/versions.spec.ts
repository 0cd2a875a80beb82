import { applyMigrations, inMigrationTransaction, migrate } from '../../src/platform/database/migrate';
import { createDatabase, type TestDatabase } from '../support/database';
import { migrations, RELEASED, schemaConfig } from '../support/schema-config';

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

describe('the schema of this version', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase('template0');
  });
  afterAll(() => database.drop());

  const schema = async (): Promise<Schema> => ({
    usable: (await database.query<{ part: string }>(USABLE)).map(({ part }) => part),
    required: await database.query<{ of: string; part: string }>(REQUIRED),
  });

  it('has all that the last release uses, and asks no more of its rows', async () => {
    const released = migrations.filter(({ name }) => RELEASED.includes(name));
    expect(released).toHaveLength(RELEASED.length);
    await inMigrationTransaction(schemaConfig(database.url), (runner) => applyMigrations(released, runner));
    const before = await schema();
    await migrate(schemaConfig(database.url));
    const known = new Set([...UNUSED, ...FULFILLED]);
    // A migration that drops what an older version reads also sets the comment of the table migrations (schema-states.ts).
    expect(missingIn(await schema(), before).filter((part) => !known.has(part))).toEqual([]);
  });
});
