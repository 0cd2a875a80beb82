import { Injectable } from '@nestjs/common';
import { CoalescedRead } from '../database/coalesced-read';
import { waitTimeout } from '../database/database-errors';
import { Semaphore } from '../database/semaphore';
import { Sql } from '../database/sql';
import { Page, type PageQuery, pageRequestOf } from '../api/lists/page';
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

/** Counts the animals by indexes, one query at a time: the other connections stay for other requests. */
@Injectable()
export class PetCountsRepository {
  private readonly totals = new CoalescedRead<Inventory[]>();
  private readonly categories = new CoalescedRead<Category[]>();
  private readonly turns = new Semaphore(1);

  constructor(private readonly sql: Sql) {}

  /** Counts all animals, or those of each of these categories. */
  async inventory(categoryIds?: readonly bigint[]): Promise<Inventory | undefined | readonly Category[]> {
    if (!categoryIds) return (await this.totals.read('all', () => this.rows(TOTAL, [])))[0];
    const ids = [...new Set(categoryIds)];
    return this.categories.read(ids.join(), () => this.rows(OF_CATEGORIES, [ids]));
  }

  /** Lists a page of the categories that have animals. @throws ApiError `invalid_cursor` */
  async listCategories(query: PageQuery): Promise<Page<Category>> {
    const request = pageRequestOf('/categories', query);
    const { key, first, count, limit } = request;
    const rows = await this.categories.read(key, () => this.rows(PAGE, [first, count]));
    const items = rows.slice(0, limit);
    return new Page(request, items, rows.length > limit ? items.at(-1)?.categoryId : undefined);
  }

  private rows<Row>(query: string, parameters: readonly unknown[]): Promise<Row[]> {
    const begin = performance.now();
    return this.turns.run(() => {
      if (performance.now() - begin >= this.sql.maxWaitMs) throw waitTimeout();
      return this.sql.rows<Row>(query, parameters);
    });
  }
}
