import { Injectable } from '@nestjs/common';
import { CoalescedRead } from '../database/coalesced-read';
import { waitTimeout } from '../database/database-errors';
import { Sql } from '../database/sql';
import { Page, type PageQuery, pageRequestOf } from '../api/lists/page';
import { Semaphore } from '../database/semaphore';
import { PetCountsRepository } from './pet-counts.repository';
import type { Category, Inventory } from './pets.dto';

/** Counts the animals, one query at a time: the other connections stay for other requests. */
@Injectable()
export class PetCountsService {
  private readonly totals = new CoalescedRead<Inventory>();
  private readonly categories = new CoalescedRead<Category[]>();
  private readonly turns = new Semaphore(1);

  constructor(
    private readonly sql: Sql,
    private readonly counts: PetCountsRepository,
  ) {}

  inventory(categoryIds?: readonly bigint[]): Promise<Inventory | readonly Category[]> {
    if (!categoryIds) return this.totals.read('all', () => this.inTurn(() => this.counts.total()));
    const ids = [...new Set(categoryIds)].toSorted((one, other) => Number(one - other));
    return this.categories.read(ids.join(), () => this.inTurn(() => this.counts.ofCategories(ids)));
  }

  /** Lists a page of the categories that have animals. @throws ApiError `invalid_cursor` */
  async listCategories(query: PageQuery): Promise<Page<Category>> {
    const request = pageRequestOf('/categories', query);
    const rows = await this.categories.read(request.key, () =>
      this.inTurn(() => this.counts.page(request.first, request.count)),
    );
    const items = rows.slice(0, request.limit);
    return new Page(request, items, rows.length > request.limit ? items.at(-1)?.categoryId : undefined);
  }

  private inTurn<T>(query: () => Promise<T>): Promise<T> {
    const begin = performance.now();
    return this.turns.run(() => {
      if (performance.now() - begin >= this.sql.maxWaitMs) throw waitTimeout();
      return query();
    });
  }
}
