import { Injectable } from '@nestjs/common';
import { lockedBefore, Sql } from '../platform/database/sql';
import type { PetStatus } from './pet-status';
import type { Pet } from './pets.dto';
import { NEW_PET_COLUMNS, PET_COLUMNS } from './pets.repository';

/** The most words, or animals of a category, that a search looks at. */
export const MAX_READ = 400;
/** The most bytes of names that are compared with the words of a search: long names take longest. */
export const MAX_COMPARED = 15_000;
/** Those of a small category, which needs one comparison for all words. */
const MAX_COMPARED_OF_CATEGORY = 25_000;
/** In ASCII a byte takes a third of the time. */
const BYTES = 'sum(octet_length(name) / CASE WHEN octet_length(name) = char_length(name) THEN 3 ELSE 1 END)';
/** The most words that are counted to find the rarest one. */
export const MAX_COUNTED = 100;

/** The most characters of a word in the index. */
export const WORD_LENGTH = 40;

/** Words of names in the order of their bytes: a word, or those with a beginning. */
export interface WordRange {
  readonly from: string;
  readonly to: string;
}

/** An animal with its place in the order of a search: its word in the range, and the number of words of its name. */
export interface FoundPet {
  readonly pet: Pet;
  readonly place: Place;
}

/** The rank of an animal in a search: by its word, then by the number of words of its name, then by its id. */
export interface Place {
  readonly word: string;
  readonly size: number;
  readonly id: bigint;
}

/** Which animals of a range match. */
export interface Match {
  /** Texts that the words of a name have all of; `|` separates those of which one is enough. */
  readonly texts: readonly string[];
  /** Texts that they have none of: an earlier range has these animals. */
  readonly others: readonly string[];
  readonly categoryId: bigint | undefined;
  readonly status: readonly PetStatus[] | undefined;
}

const AFTER = '(word, size, pet_id) > ($3, $4::smallint, $5::bigint) AND word <= $2';

/**
 * The words of a range after a place, in the order of the primary key only (decision 22). Without the outer ORDER BY the
 * planner forgets it, and sorts all animals. $11 is at most MAX_READ.
 */
const WORDS = `
  SELECT * FROM (
    SELECT word, size, pet_id FROM pet_words WHERE ${AFTER} ORDER BY word, size, pet_id LIMIT ${MAX_READ + 1}
  ) AS few ORDER BY word, size, pet_id LIMIT $11`;

const FILTER = '($9::bigint IS NULL OR category_id = $9) AND ($8::text[] IS NULL OR status = ANY ($8))';

/**
 * Finds the animals that match, each at its first word in the range. A row without an animal follows if the names before
 * had $12 bytes. LATERAL with LIMIT: each animal is read by its id, until the page is full. Other forms
 * sort all of them.
 */
const READ = `
  SELECT pet.* FROM ${lockedBefore('pets')} (
    SELECT at.*, named.*,
      ${BYTES} OVER (ORDER BY at.word, at.size, at.pet_id ROWS UNBOUNDED PRECEDING) AS bytes
    FROM (${WORDS}) AS at, LATERAL (SELECT id, ${NEW_PET_COLUMNS} FROM pets WHERE id = at.pet_id AND ${FILTER} LIMIT 1) AS named
  ) AS at ON false LEFT JOIN LATERAL (
    SELECT ${PET_COLUMNS}, found.word, found.size
    FROM (SELECT pet_search_text(at.name) AS text OFFSET 0) AS named, LATERAL (
      SELECT min(short) AS word, least(count(*), 100)::smallint AS size FROM (
        SELECT CASE WHEN left(word, ${WORD_LENGTH}) COLLATE "C" BETWEEN $1 AND $2 THEN left(word, ${WORD_LENGTH}) END COLLATE "C" AS short
        FROM unnest(string_to_array(btrim(text), ' ')) AS word
      ) AS words
    ) AS found
    WHERE bytes <= $12::bigint AND found.word = at.word
      AND NOT EXISTS (
        SELECT FROM unnest($6::text[]) AS needed
        WHERE NOT EXISTS (SELECT FROM string_to_table(needed, '|') AS each WHERE strpos(text, each) > 0)
      )
      AND NOT EXISTS (SELECT FROM unnest($7::text[]) AS other WHERE strpos(text, other) > 0)
    LIMIT 1
  ) AS pet ON true
  WHERE pet.id IS NOT NULL OR bytes > $12
  ORDER BY at.word, at.size, at.pet_id LIMIT $10`;

/** The animals of a category that has few. Those after $3 bytes of names have no text. */
const READ_CATEGORY = `
  SELECT ${PET_COLUMNS}, CASE WHEN bytes <= $3 THEN pet_search_text(name) END AS text
  FROM (
    SELECT id, ${NEW_PET_COLUMNS}, ${BYTES} OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS bytes FROM pets
    WHERE category_id = $1 AND ($2::text[] IS NULL OR status = ANY ($2)) ORDER BY id LIMIT ${MAX_READ}
  ) AS read ORDER BY id`;

/** How many words of a range follow a place, up to one more than $5. */
const COUNT = `
  SELECT count(*)::int AS count FROM (
    SELECT FROM pet_words WHERE (word, size, pet_id) > ($2, $3::smallint, $4::bigint) AND word <= $1
    ORDER BY word, size, pet_id LIMIT $5 + 1
  ) AS read`;

/** How many words each range has, up to a bound. */
const SIZES = `
  SELECT (SELECT count(*)::int FROM (
    SELECT FROM pet_words WHERE word >= first AND word <= last ORDER BY word, size, pet_id LIMIT ${MAX_COUNTED}
  ) AS read) AS size
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (first, last, position) ORDER BY position`;

const IS_SMALL = `
  SELECT count(*) <= ${MAX_READ} AS "isSmall"
  FROM (SELECT FROM pets WHERE category_id = $1 ORDER BY id LIMIT ${MAX_READ + 1}) AS read`;

/** Walks over the different words next to $1: each step reads one entry. */
const walk = (name: string, comparison: '>=' | '<', order: 'ASC' | 'DESC') => `
  ${name} (word, step) AS (
    (SELECT word, 1 FROM pet_words WHERE word ${comparison} $1 ORDER BY word ${order} LIMIT 1)
    UNION ALL
    SELECT (
      SELECT next.word FROM pet_words AS next WHERE next.word ${comparison.charAt(0)} ${name}.word
      ORDER BY next.word ${order} LIMIT 1
    ), step + 1 FROM ${name} WHERE word IS NOT NULL AND step < $2
  )`;

const NEAR = `
  WITH RECURSIVE ${walk('following', '>=', 'ASC')}, ${walk('preceding', '<', 'DESC')}
  SELECT word FROM following UNION SELECT word FROM preceding`;

const NEAREST = `
  SELECT DISTINCT near.word FROM unnest($1::text[]) AS text, LATERAL (
    (SELECT word FROM pet_words WHERE word >= text COLLATE "C" ORDER BY word LIMIT 1)
    UNION ALL (SELECT word FROM pet_words WHERE word < text COLLATE "C" ORDER BY word DESC LIMIT 1)
  ) AS near`;

/** The words of names in the database. Every statement reads a bounded number of rows, for any names. */
@Injectable()
export class PetSearchRepository {
  constructor(private readonly sql: Sql) {}

  /** Returns the words of a text as `pet_search_text` of the migrations makes those of names. */
  async wordsOf(text: string): Promise<string[]> {
    // In ASCII the same rule is two steps here, and saves a query.
    if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
    const [row] = await this.sql.rows<{ text: string }>('SELECT pet_search_text($1) AS text', [text]);
    return row?.text.split(' ').filter((word) => word !== '') ?? [];
  }

  async sizesOf(ranges: readonly WordRange[]): Promise<number[]> {
    const bounds = [ranges.map(({ from }) => from), ranges.map(({ to }) => to)];
    return (await this.sql.rows<{ size: number }>(SIZES, bounds)).map(({ size }) => size);
  }

  async isSmall(categoryId: bigint): Promise<boolean> {
    return (await this.sql.rows<{ isSmall: boolean }>(IS_SMALL, [categoryId]))[0]?.isSmall === true;
  }

  /**
   * Reads matching animals of a range after a place.
   *
   * @param bounds the animals to find, the words to look at, and the bytes of names to compare; `isCut`: there are more
   */
  async read(
    { from, to }: WordRange,
    { word, size, id }: Place,
    { texts, others, categoryId, status }: Match,
    { count, words, bytes }: { readonly count: number; readonly words: number; readonly bytes: number },
  ): Promise<{ found: FoundPet[]; isCut: boolean }> {
    const parameters = [from, to, word, size, id, texts, others, status, categoryId, count, words, bytes];
    const rows = await this.sql.rows<(Pet & Place) | { id: null }>(READ, parameters);
    const read = rows.filter((row) => row.id !== null);
    const found = read.map(({ word: first, size: length, ...pet }) => ({
      pet,
      place: { word: first, size: length, id: pet.id },
    }));
    return { found, isCut: read.length < rows.length };
  }

  readCategory(
    id: bigint,
    status: readonly PetStatus[] | undefined,
  ): Promise<(Pet & { text: string | null })[]> {
    return this.sql.rows(READ_CATEGORY, [id, status, MAX_COMPARED_OF_CATEGORY]);
  }

  async count({ to }: WordRange, { word, size, id }: Place, most: number): Promise<number> {
    return (await this.sql.rows<{ count: number }>(COUNT, [to, word, size, id, most]))[0]?.count ?? 0;
  }

  /** Returns the words of names before and after a word. */
  async near(word: string, count: number): Promise<string[]> {
    const rows = await this.sql.rows<{ word: string | null }>(NEAR, [word, count]);
    return rows.flatMap((row) => row.word ?? []);
  }

  /** Returns those of some texts that are words of names, and the next word before and after each. */
  async nearest(texts: readonly string[]): Promise<string[]> {
    return (await this.sql.rows<{ word: string }>(NEAREST, [texts])).map(({ word }) => word);
  }
}
