import { Injectable } from '@nestjs/common';
import { Sql } from '../database/sql';
import { PET_STATUSES } from './pet-status';
import type { Category, Inventory } from './pets.dto';

const COUNTS = PET_STATUSES.map(
  (status) => `count(*) FILTER (WHERE status = '${status}')::float8 AS ${status}`,
).join();

const TOTAL = `SELECT ${COUNTS} FROM pets`;

/** LATERAL reads the range of each category in the index, also if the planner expects most of the table. */
const OF_CATEGORIES = `
  SELECT category AS "categoryId", counted.*
  FROM unnest($1::bigint[]) AS category, LATERAL (SELECT ${COUNTS} FROM pets WHERE category_id = category) AS counted
  ORDER BY category`;

/** In the order of the index on category and status, which has NULLS FIRST: the page ends the scan. */
const PAGE = `
  SELECT category_id AS "categoryId", ${COUNTS} FROM pets WHERE category_id >= $1
  GROUP BY category_id ORDER BY category_id NULLS FIRST LIMIT $2`;

/** Counts the animals, by indexes that have their category and status. */
@Injectable()
export class PetCountsRepository {
  constructor(private readonly sql: Sql) {}

  async total(): Promise<Inventory> {
    const [counts] = await this.sql.rows<Inventory>(TOTAL, []);
    if (!counts) throw new Error('an aggregate has a row');
    return counts;
  }

  ofCategories(ids: readonly bigint[]): Promise<Category[]> {
    return this.sql.rows(OF_CATEGORIES, [ids]);
  }

  /** Returns the counts of categories that have animals, from the category `first` on. */
  page(first: bigint, count: number): Promise<Category[]> {
    return this.sql.rows(PAGE, [first, count]);
  }
}
