import { Injectable } from '@nestjs/common';
import { lockedBefore, Sql, type Statement } from '../platform/database/sql';
import { PET_STATUSES, type PetStatus } from './pet-status';

export type PetCounts = Readonly<Record<PetStatus, number>>;

export interface CountsOfCategory extends PetCounts {
  readonly categoryId: bigint;
}

/** Changes that one statement adds up. */
const BATCH = 5_000;

const each = (expression: (status: PetStatus) => string) => PET_STATUSES.map(expression).join();

const SUMS = each((status) => `coalesce(sum(${status}), 0)::float8 AS ${status}`);

/** The changes that were not added up. The scan begins behind those that were, whose rows may still be there. */
const CHANGES = `
  SELECT * FROM pet_count_changes WHERE id > (SELECT counted_to FROM pet_count_totals) ORDER BY id`;

const TOTAL: Statement = {
  isPipelined: true,
  text: `
    SELECT ${SUMS} FROM (
      SELECT ${each(String)} FROM pet_count_totals
      UNION ALL SELECT ${each(String)} FROM (${CHANGES}) AS changes
    ) AS counted`,
};

const OF_CATEGORIES = `
  SELECT category_id AS "categoryId", ${SUMS} FROM ${lockedBefore('pet_count_totals')} (
    SELECT category_id, ${each(() => '0')} FROM unnest($1::bigint[]) AS category_id
    UNION ALL SELECT * FROM pet_counts WHERE category_id = ANY ($1)
    UNION ALL SELECT category_id, ${each(String)} FROM (${CHANGES}) AS changes WHERE category_id = ANY ($1)
  ) AS counted (category_id, ${each(String)}) ON false GROUP BY category_id ORDER BY category_id`;

/** At most as many categories have no animals any more as there are changes. */
const PAGE = `
  WITH changes AS MATERIALIZED (
    SELECT category_id, ${each(String)} FROM ${lockedBefore('pet_count_totals')} (${CHANGES}) AS changes ON false
    WHERE category_id >= $1
  )
  SELECT category_id AS "categoryId", ${SUMS} FROM ${lockedBefore('pet_count_totals')} (
    (SELECT * FROM pet_counts WHERE category_id >= $1
      ORDER BY category_id LIMIT $2 + (SELECT count(*) FROM changes))
    UNION ALL SELECT * FROM changes
  ) AS counted ON false GROUP BY category_id HAVING sum(${PET_STATUSES.join(' + ')}) > 0 ORDER BY category_id LIMIT $2`;

/**
 * Adds changes up, unless there are none or another instance does. A transaction that has the number of an earlier change was running
 * when a later change was visible: `counted_to` follows when all transactions from then have ended. In another cluster,
 * such as after a restore, transactions have other numbers.
 */
const ADD_UP = `
  WITH total AS MATERIALIZED (
    SELECT * FROM pet_count_totals
    WHERE EXISTS (SELECT FROM pet_count_changes WHERE id > counted_to) FOR UPDATE SKIP LOCKED
  ),
  changes AS (
    DELETE FROM pet_count_changes WHERE id = ANY (ARRAY(
      SELECT id FROM pet_count_changes WHERE id > (SELECT counted_to FROM total) ORDER BY id LIMIT ${BATCH}
    )) RETURNING *
  ), added AS (
    INSERT INTO pet_counts AS known (category_id, ${each(String)})
    SELECT category_id, ${each((status) => `sum(${status})`)} FROM changes GROUP BY category_id ORDER BY category_id
    ON CONFLICT (category_id) DO UPDATE SET ${each((status) => `${status} = known.${status} + excluded.${status}`)}
  ), read AS (
    SELECT ${each((status) => `coalesce(sum(${status}), 0) AS ${status}`)}, count(*) AS count, max(id) AS last,
      pg_snapshot_xmin(pg_current_snapshot()) AS first_running, pg_snapshot_xmax(pg_current_snapshot()) AS end
    FROM changes
  )
  UPDATE pet_count_totals AS total SET
    ${each((status) => `${status} = total.${status} + read.${status}`)},
    counted_to = CASE WHEN next_at <= first_running AND read.count < ${BATCH} THEN next_to ELSE counted_to END,
    next_to = CASE WHEN next_at <= first_running OR next_at > read.end THEN coalesce(last, next_to) ELSE next_to END,
    next_at = CASE WHEN next_at <= first_running OR next_at > read.end THEN read.end ELSE next_at END
  FROM read WHERE EXISTS (SELECT FROM total)
  RETURNING read.count::int AS count`;

const REMOVE_EMPTY = `DELETE FROM pet_counts WHERE ${PET_STATUSES.map((status) => `${status} = 0`).join(' AND ')}`;

/** The numbers of animals. Triggers write each change in its transaction, so that no change waits for another one. */
@Injectable()
export class PetCountsRepository {
  constructor(private readonly sql: Sql) {}

  async total(): Promise<PetCounts> {
    const [counts] = await this.sql.rows<PetCounts>(TOTAL, []);
    if (!counts) throw new Error('a sum has a row');
    return counts;
  }

  /** Returns the counts of each of some categories, in ascending order. */
  ofCategories(ids: readonly bigint[]): Promise<CountsOfCategory[]> {
    return this.sql.rows(OF_CATEGORIES, [ids]);
  }

  /** Returns the counts of categories that have animals, from the category `first` on. */
  page(first: bigint, count: number): Promise<CountsOfCategory[]> {
    return this.sql.rows(PAGE, [first, count]);
  }

  /** Adds a batch of changes up. @returns true if there may be more */
  addUp(): Promise<boolean> {
    return this.sql.transaction(async (transaction) => {
      const [added] = await this.sql.rows<{ count: number }>(ADD_UP, [], transaction);
      if (added) await this.sql.rows(REMOVE_EMPTY, [], transaction);
      return added?.count === BATCH;
    });
  }
}
