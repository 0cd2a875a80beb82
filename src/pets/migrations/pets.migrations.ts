import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MergedMigration, SqlMigration } from '../../database/migrations/sql-migration';

/** The animals of version 1.1. */
export class Pets1795219200001 extends SqlMigration {
  override readonly upSql = `
    CREATE TABLE pets (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
      category_id bigint NOT NULL,
      status text NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
    );
    -- For a page of one status, of one category, and of both; the primary key serves a page without a filter.
    CREATE INDEX pets_status_id ON pets (status, id);
    CREATE INDEX pets_category_id_id ON pets (category_id, id);
    -- NULLS FIRST: an order that the index on (category_id, id) does not give (lists.ts).
    CREATE INDEX pets_category_id_status_id ON pets (category_id NULLS FIRST, status, id)`;
  override readonly downSql = 'DROP TABLE pets';
}

// The first one contains these.
export class FindPets1795219200008 extends MergedMigration {}
export class PetsOrder1795219200010 extends MergedMigration {}

/** Hiragana, which a translation makes katakana. */
const HIRAGANA = Array.from({ length: 86 }, (_, at) => String.fromCodePoint(0x3041 + at)).join('');
const KATAKANA = Array.from({ length: 86 }, (_, at) => String.fromCodePoint(0x30a1 + at)).join('');

/**
 * Letters that people type for one another: those that NFKD leaves as they are, without their accent; Arabic kaf and yeh as
 * the Persian ones. An apostrophe that is a letter separates words as the other one does.
 */
const PLAIN = [
  `øłđðħıŋŧς\u0643\u064a\u0649\u02bc${HIRAGANA}`,
  `olddhintσ\u06a9\u06cc\u06cc ${KATAKANA}`,
] as const;

/** Accents, vowel points, and invisible characters such as joiners and marks of direction. */
const MARKS = String.raw`[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]`;

/** In scripts of India and its neighbours the vowels of a word are neither letters nor digits. */
const BETWEEN_WORDS = String.raw`[^[:alnum:]\u0900-\u0963\u0966-\u1cff]+`;

/** A collation that knows case and kind of every letter: the locale of the database may be C. */
const COLLATION = `
  SELECT coalesce(
    (SELECT quote_ident(collname) FROM pg_collation
     WHERE collname IN ('und-x-icu', 'pg_c_utf8') AND collnamespace = 'pg_catalog'::regnamespace
     ORDER BY collname DESC LIMIT 1), '"default"') AS collation`;

/**
 * The words of a text without case and accents, between spaces; in ASCII in a third of the time. A word has at most 500
 * characters: the index takes 2,046 bytes, and a name of 255 ligatures has 18 letters for each.
 *
 * PL/pgSQL keeps the expression for a session, a third of the time of LANGUAGE sql. The planner does not see into it, so
 * its COST says that a scan of all names is slow.
 */
const WORDS = (collation: string) => `
  CREATE FUNCTION pet_words(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT COST 1000 AS $$ BEGIN RETURN
    btrim(CASE WHEN octet_length(name) = char_length(name)
      THEN regexp_replace(lower(name COLLATE "C"), '[^a-z0-9]+', ' ', 'g') COLLATE "C"
      ELSE regexp_replace(
        normalize(replace(replace(replace(replace(translate(
          regexp_replace(lower(left(normalize(name, NFKD), 500) COLLATE ${collation}), '${MARKS}', '', 'g'),
          '${PLAIN[0]}', '${PLAIN[1]}'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), NFC),
        '${BETWEEN_WORDS}', ' ', 'g') COLLATE "C"
      END); END $$;`;

const INDEX = `CREATE INDEX pets_words ON pets USING gin (array_to_tsvector(string_to_array(pet_words(name), ' ')))`;

export class PetWords1795219200060 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ collation } = { collation: '' }]: { collation: string }[] = await runner.query(COLLATION);
    await runner.query(`${WORDS(collation)} ${INDEX}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX pets_words; DROP FUNCTION pet_words');
  }
}

// It made an index of words that `PetWordBlocks` replaces.
export class PlainPetWords1795219200061 extends MergedMigration {}

/**
 * The index calls the function only for a name that has other characters than words in ASCII: the first call of PL/pgSQL
 * in a transaction takes 15 µs, later ones 1 to 3. With the block of the id as a word, the rows next to an id that match
 * are found without reading all that match.
 */
export class PetWordBlocks1795219200071 extends SqlMigration {
  // DROP INDEX stops reads until the transaction ends.
  override readonly upSql = `
    CREATE INDEX pets_word_blocks ON pets USING gin (array_to_tsvector(string_to_array(
      CASE WHEN name COLLATE "C" ~ '^[A-Za-z0-9]+( [A-Za-z0-9]+)*$' THEN lower(name COLLATE "C") ELSE pet_words(name) END, ' ')
      || ('#' || (id >> 14)::text)));
    DROP INDEX pets_words`;
  override readonly downSql = `${INDEX}; DROP INDEX pets_word_blocks`;
}
