import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';
import type { PageRequest } from '../platform/http/page';
import type { NewSparePart, SparePart } from './spare-parts.dto';

const LIST: Statement = {
  name: 'spare_parts_list',
  text: 'SELECT id, name FROM spare_parts WHERE id >= $1 ORDER BY id LIMIT $2',
};

const FIND: Statement = {
  name: 'spare_parts_find',
  text: 'SELECT id, name FROM spare_parts WHERE id = $1',
};

/** Of concurrent requests with one name exactly one inserts a row. */
const INSERT: Statement = {
  name: 'spare_parts_insert',
  text: 'INSERT INTO spare_parts (name) VALUES ($1) ON CONFLICT (name) DO NOTHING RETURNING id, name',
};

/** The statements about spare parts. */
@Injectable()
export class SparePartsRepository {
  constructor(private readonly sql: Sql) {}

  /** Lists the spare parts of a page, by ascending id. */
  list({ first, count }: PageRequest): Promise<SparePart[]> {
    return this.sql.rows<SparePart>(LIST, [first, count]);
  }

  async find(id: bigint): Promise<SparePart | undefined> {
    const [found] = await this.sql.rows<SparePart>(FIND, [id]);
    return found;
  }

  /** @returns undefined if the name is taken */
  async insert({ name }: NewSparePart, transaction?: EntityManager): Promise<SparePart | undefined> {
    const [inserted] = await this.sql.rows<SparePart>(INSERT, [name], transaction);
    return inserted;
  }
}
