import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MIN_INT64 } from '../http/int64';
import { type Statement, Sql } from '../database/sql';
import type { PetStatus } from './pet-status';
import type { NewPet, Pet } from './pets.dto';

const COLUMNS = 'id, name, category_id AS "categoryId", status';

export const LIST: Statement = {
  name: 'pets_list',
  text: `SELECT ${COLUMNS} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`,
};

/**
 * Begins behind (status, id) and ends with the status, so that only the index on both can give the order. With
 * `status = $3 … ORDER BY id` the planner may walk the primary key instead, past every animal of another status.
 */
export const LIST_BY_STATUS: Statement = {
  name: 'pets_list_by_status',
  text: `SELECT ${COLUMNS} FROM pets WHERE (status, id) > ($3, $1) AND status <= $3 ORDER BY status, id LIMIT $2`,
};

const FIND: Statement = {
  name: 'pets_find',
  text: `SELECT ${COLUMNS} FROM pets WHERE id = $1`,
};

const INSERT: Statement = {
  name: 'pets_insert',
  text: `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
};

/** Of several that move an animal at once, one finds it as it was; the others wait for its row, and then do not. */
const MOVE: Statement = {
  name: 'pets_move',
  text: 'UPDATE pets SET status = $2 WHERE id = $1 AND status = ANY($3::text[]) RETURNING id',
};

/** The statements of animals, one for each operation. */
@Injectable()
export class PetsRepository {
  constructor(private readonly sql: Sql) {}

  /** At most `count` animals by ascending id, beginning behind `after`; the depth of the page makes no difference. */
  list(after: bigint | undefined, count: number, status?: PetStatus): Promise<Pet[]> {
    return status === undefined
      ? this.sql.rows<Pet>(LIST, [after ?? MIN_INT64, count])
      : this.sql.rows<Pet>(LIST_BY_STATUS, [after ?? MIN_INT64, count, status]);
  }

  async find(id: bigint, transaction?: EntityManager): Promise<Pet | undefined> {
    const [pet] = await this.sql.rows<Pet>(FIND, [id], transaction);
    return pet;
  }

  async insert({ name, categoryId, status }: NewPet, transaction?: EntityManager): Promise<Pet> {
    const [pet] = await this.sql.rows<Pet>(INSERT, [name, categoryId, status], transaction);
    if (!pet) throw new Error('INSERT … RETURNING returned no row');
    return pet;
  }

  /** Changes an animal's status where it is one of those named. @returns false where it is not, or there is no animal */
  async move(
    id: bigint,
    to: PetStatus,
    from: readonly PetStatus[],
    transaction: EntityManager,
  ): Promise<boolean> {
    return (await this.sql.rows(MOVE, [id, to, from], transaction)).length === 1;
  }
}
