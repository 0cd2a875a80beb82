import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SqlMigration } from '../../platform/database/migrations/sql-migration';

export class Pets1795219200001 extends SqlMigration {
  override readonly upSql = `
    CREATE TABLE pets (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      category_id bigint NOT NULL,
      status text NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
    );
    -- For a page of one status; the primary key serves a page without a filter.
    CREATE INDEX pets_status_id ON pets (status, id)`;
  override readonly downSql = 'DROP TABLE pets';
}

export class FindPets1795219200008 extends SqlMigration {
  // For a page of one category, and of one category and status.
  override readonly upSql = `
    CREATE INDEX pets_category_id_id ON pets (category_id, id);
    CREATE INDEX pets_category_id_status_id ON pets (category_id, status, id)`;
  override readonly downSql = 'DROP INDEX pets_category_id_status_id, pets_category_id_id';
}

export class PetsOrder1795219200010 extends SqlMigration {
  // NULLS FIRST: an order that the index on (category_id, id) does not give (page-statement.ts).
  override readonly upSql = `
    DROP INDEX pets_category_id_status_id;
    CREATE INDEX pets_category_id_status_id ON pets (category_id NULLS FIRST, status, id)`;
  override readonly downSql = `
    DROP INDEX pets_category_id_status_id;
    CREATE INDEX pets_category_id_status_id ON pets (category_id, status, id)`;
}

/** Letters that have no decomposition, and those without the accent. The others lose it by NFKD. */
const PLAIN = ['øłđðħıŋŧς', 'olddhintσ'] as const;

/** Accents, vowel points, and invisible characters such as joiners and marks of direction. */
const MARKS = String.raw`[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]`;

/** In scripts of India and its neighbours the vowels of a word are neither letters nor digits. */
const BETWEEN_WORDS = String.raw`[^[:alnum:]\u0900-\u0963\u0966-\u1cff]+`;

/** A collation that knows case and kind of every letter: the locale of the database may be C. */
const COLLATION = `
  SELECT coalesce(
    (SELECT quote_ident(collname) FROM pg_collation
     WHERE collname IN ('und-x-icu', 'pg_c_utf8') AND collnamespace = 'pg_catalog'::regnamespace
     ORDER BY collname DESC LIMIT 1), '"default"') AS collation, quote_ident(current_schema()) AS schema`;

const TABLES = `
  CREATE TABLE pet_words (
    -- At most 40 characters of it. The collation is that of its bytes.
    word text COLLATE "C" NOT NULL,
    -- The number of words of the name: names that have little else are found first.
    size smallint NOT NULL,
    pet_id bigint NOT NULL
  );
  -- The animals of each category and of the store: \`pet_count_changes\` after \`counted_to\` come on top.
  CREATE TABLE pet_counts (
    category_id bigint PRIMARY KEY,
    available bigint NOT NULL,
    pending bigint NOT NULL,
    sold bigint NOT NULL
  );
  CREATE INDEX pet_counts_none ON pet_counts (category_id) WHERE available = 0 AND pending = 0 AND sold = 0;
  CREATE TABLE pet_count_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    category_id bigint NOT NULL,
    available bigint NOT NULL,
    pending bigint NOT NULL,
    sold bigint NOT NULL
  );
  CREATE TABLE pet_count_totals (
    available bigint NOT NULL,
    pending bigint NOT NULL,
    sold bigint NOT NULL,
    -- No transaction can add a change up to this id any more, and all were added up.
    counted_to bigint NOT NULL DEFAULT 0,
    -- The next such id, when all transactions before this one have ended.
    next_to bigint NOT NULL DEFAULT 0,
    next_at xid8 NOT NULL DEFAULT '0',
    -- Under a publication of all tables (logical replication) PostgreSQL rejects changes of rows without a key.
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
  );
  ${[
    'TABLE pet_words',
    'TABLE pet_counts',
    'TABLE pet_count_changes',
    'TABLE pet_count_totals',
    'SEQUENCE pet_count_changes_id_seq',
  ]
    .map((what) => `COMMENT ON ${what} IS 'Derived from pets by its triggers: backups do not have it'`)
    .join(';')}`;

/** Not those of the code, which may change later. */
const STATUSES = ['available', 'pending', 'sold'];

const counts = (factor = '1') =>
  STATUSES.map((status) => `coalesce(sum(${factor}) FILTER (WHERE status = '${status}'), 0)`).join();

/** The words of the names of some rows. DISTINCT: a name may have a word twice. OFFSET 0: its text is made once. */
const wordsOf = (rows: string) => `
  SELECT DISTINCT left(word, 40) COLLATE "C" AS word, least(cardinality(words), 100) AS size, id
  FROM (SELECT id, string_to_array(btrim(pet_search_text(name)), ' ') AS words FROM ${rows} AS named OFFSET 0) AS split,
    unnest(words) AS word WHERE word <> ''`;

const added = (rows: string) => `INSERT INTO pet_words (word, size, pet_id) ${wordsOf(rows)};`;

/** A session keeps the plan: LIMIT and the array make it good for few rows and for many. */
const removed = (rows: string) => `
  DELETE FROM pet_words WHERE ctid = ANY (ARRAY(
    SELECT known.ctid FROM (${wordsOf(rows)}) AS gone, LATERAL (
      SELECT ctid FROM pet_words WHERE (word, size, pet_id) = (gone.word, gone.size, gone.id) LIMIT 1
    ) AS known));`;

const changed = (rows: string, having = '') => `
  INSERT INTO pet_count_changes (category_id, available, pending, sold)
  SELECT category_id, ${counts('count')} FROM (${rows}) AS changed GROUP BY category_id ${having};`;

const RENAMED = 'SELECT id, name FROM changed EXCEPT SELECT id, name FROM previous';

const FUNCTIONS = ({ collation, schema }: { collation: string; schema: string }) => `
  -- The words of a text without case and accents, between spaces. In ASCII it takes a third of the time.
  -- An accent is a letter more: 512 are those of a name, but not of 255 ligatures of 18 letters.
  CREATE FUNCTION pet_search_text(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    ' ' || btrim(CASE WHEN octet_length(name) = char_length(name)
      THEN regexp_replace(lower(name COLLATE "C"), '[^a-z0-9]+', ' ', 'g') COLLATE "C"
      ELSE regexp_replace(
        normalize(replace(replace(replace(replace(translate(
          regexp_replace(lower(left(normalize(name, NFKD), 512) COLLATE ${collation}), '${MARKS}', '', 'g'),
          '${PLAIN[0]}', '${PLAIN[1]}'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), NFC),
        '${BETWEEN_WORDS}', ' ', 'g') COLLATE "C"
      END) || ' ';

  -- As the events: neither the session of a change nor its user have an effect.
  CREATE FUNCTION derive_from_pets() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      ${added('changed')}
      ${changed('SELECT category_id, status, 1 AS count FROM changed')}
    ELSIF TG_OP = 'UPDATE' THEN
      -- EXCEPT has one plan for few rows and for many.
      IF EXISTS (${RENAMED}) THEN
        ${removed('(SELECT id, name FROM previous EXCEPT SELECT id, name FROM changed)')}
        ${added(`(${RENAMED})`)}
      END IF;
      ${changed(
        'SELECT category_id, status, 1 AS count FROM changed UNION ALL SELECT category_id, status, -1 FROM previous',
        `HAVING (${counts('count')}) <> (0, 0, 0)`,
      )}
    ELSIF TG_OP = 'DELETE' THEN
      ${removed('previous')}
      ${changed('SELECT category_id, status, -1 AS count FROM previous')}
    ELSE
      -- In the order in which a count locks them.
      TRUNCATE pet_count_totals, pet_count_changes, pet_counts, pet_words;
      INSERT INTO pet_count_totals (available, pending, sold) VALUES (0, 0, 0);
    END IF;
    RETURN NULL;
  END $$;`;

const TRIGGERS = [
  ['INSERT', 'REFERENCING NEW TABLE AS changed'],
  ['UPDATE', 'REFERENCING NEW TABLE AS changed OLD TABLE AS previous'],
  ['DELETE', 'REFERENCING OLD TABLE AS previous'],
  ['TRUNCATE', ''],
]
  .map(
    ([event, tables]) =>
      `CREATE TRIGGER derive_${event} AFTER ${event} ON pets ${tables} FOR EACH STATEMENT EXECUTE FUNCTION derive_from_pets();`,
  )
  .join('');

/** The triggers lock the animals first, so no change is missed. */
const FILL = `
  ${added('pets')}
  ALTER TABLE pet_words ADD PRIMARY KEY (word, size, pet_id);
  INSERT INTO pet_counts SELECT category_id, ${counts()} FROM pets GROUP BY category_id;
  INSERT INTO pet_count_totals (available, pending, sold) SELECT ${counts()} FROM pets`;

export class PetWordsAndCounts1795219200060 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [names = { collation: '', schema: '' }]: { collation: string; schema: string }[] =
      await runner.query(COLLATION);
    for (const statements of [TABLES, FUNCTIONS(names), TRIGGERS, FILL]) await runner.query(statements);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION derive_from_pets CASCADE;
      DROP FUNCTION pet_search_text;
      DROP TABLE pet_words, pet_counts, pet_count_changes, pet_count_totals`);
  }
}

export const petsMigrations = [
  Pets1795219200001,
  FindPets1795219200008,
  PetsOrder1795219200010,
  PetWordsAndCounts1795219200060,
];
