import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { cutPage, type Page, pageRequestOf } from '../platform/http/page';
import { type PageQuery } from '../platform/http/page-query';
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
    const request = pageRequestOf(SPARE_PARTS_PATH, query);
    return cutPage(request, await this.repository.list(request));
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
