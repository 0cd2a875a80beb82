import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { listName } from '../platform/http/links';
import { cutPage, decodeCursor, type Page, type PageQuery } from '../platform/http/page';
import type { NewSparePart, SparePart } from './spare-parts.dto';
import { sparePartErrors } from './spare-parts.errors';
import { SparePartsRepository } from './spare-parts.repository';

/** Path of the list of spare parts, relative to the base URL. */
export const SPARE_PARTS_PATH = '/spare-parts';

@Injectable()
export class SparePartsService {
  constructor(private readonly repository: SparePartsRepository) {}

  /** @throws ApiError `invalid_cursor` */
  async list(query: PageQuery): Promise<Page<SparePart>> {
    const { limit, cursor } = query;
    const after = decodeCursor(listName(SPARE_PARTS_PATH, query), cursor);
    return cutPage(await this.repository.list(after, limit + 1), limit);
  }

  /** @throws ApiError `spare_part_exists` */
  async create(body: NewSparePart, transaction?: EntityManager): Promise<SparePart> {
    const created = await this.repository.insert(body, transaction);
    if (!created) throw sparePartErrors.spare_part_exists();
    return created;
  }

  /** @throws ApiError `spare_part_not_found` */
  async get(id: bigint): Promise<SparePart> {
    const found = await this.repository.find(id);
    if (!found) throw sparePartErrors.spare_part_not_found();
    return found;
  }
}
