import { Injectable } from '@nestjs/common';
import { CoalescedRead } from '../platform/database/coalesced-read';
import { Page, type PageQuery, pageRequestOf } from '../platform/paging/page';
import { PeriodicWork } from '../platform/runtime/periodic-work';
import { SECOND_MS } from '../platform/runtime/time';
import { type CountsOfCategory, type PetCounts, PetCountsRepository } from './pet-counts.repository';

/** Counts the animals, and adds changes of the counts up. */
@Injectable()
export class PetCountsService extends PeriodicWork {
  private readonly totals = new CoalescedRead<PetCounts>();

  constructor(private readonly counts: PetCountsRepository) {
    super('The addition of changed counts of animals', SECOND_MS);
  }

  /** Several instances may do so concurrently: one of them works. */
  override async run(): Promise<void> {
    while ((await this.counts.addUp()) && !this.isStopping);
  }

  /** Counts all animals, or those of each of some categories. Concurrent requests for all of them share a query. */
  inventory(categoryIds?: readonly bigint[]): Promise<PetCounts | readonly CountsOfCategory[]> {
    if (categoryIds) return this.counts.ofCategories([...new Set(categoryIds)]);
    return this.totals.read('all', () => this.counts.total());
  }

  /** Lists a page of the categories that have animals. @throws ApiError `invalid_cursor` */
  async listCategories(query: PageQuery): Promise<Page<CountsOfCategory>> {
    const request = pageRequestOf('/categories', query);
    const rows = await this.counts.page(request.first, request.count);
    const items = rows.slice(0, request.limit);
    return new Page(request, items, rows.length > request.limit ? items.at(-1)?.categoryId : undefined);
  }
}
