import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MIN_INT64 } from '../platform/http/int64';
import { JoinedInserts } from '../platform/database/joined-inserts';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';
import type { PetStatus } from './pet-status';
import type { NewPet, Pet } from './pets.dto';

const COLUMNS = 'id, name, category_id, status';

const read = ([id, name, categoryId, status]: [bigint, string, bigint, PetStatus]): Pet => ({
  id,
  name,
  categoryId,
  status,
});

export const LIST_PETS: Statement = {
  name: 'pets_list',
  read,
  isPipelined: true,
  text: `SELECT ${COLUMNS} FROM pets WHERE id > $1 ORDER BY id LIMIT $2`,
};

/**
 * A row comparison on (status, id), so that only the index on both columns gives the order. With
 * `status = $3 … ORDER BY id` the planner may scan the primary key, past every animal of another status.
 */
export const LIST_PETS_BY_STATUS: Statement = {
  name: 'pets_list_by_status',
  read,
  isPipelined: true,
  text: `SELECT ${COLUMNS} FROM pets WHERE (status, id) > ($3, $1) AND status <= $3 ORDER BY status, id LIMIT $2`,
};

const FIND: Statement = {
  name: 'pets_find',
  read,
  isPipelined: true,
  text: `SELECT ${COLUMNS} FROM pets WHERE id = $1`,
};

const LOCK: Statement = { name: 'pets_lock', read, text: `${FIND.text} FOR UPDATE` };

const INSERT: Statement = {
  name: 'pets_insert',
  read,
  text: `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
};

/** The ids ascend in the order of the arrays. */
const INSERT_ALL: Statement = {
  name: 'pets_insert_all',
  read,
  text: `
    INSERT INTO pets (name, category_id, status)
    SELECT name, category_id, status
    FROM unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS added (name, category_id, status, position)
    ORDER BY position
    RETURNING ${COLUMNS}`,
};

/** Conditional update: of concurrent changes exactly one succeeds. The others find the status changed and update nothing. */
const CHANGE_STATUS: Statement = {
  name: 'pets_change_status',
  read,
  text: `UPDATE pets SET status = $2 WHERE id = $1 AND status = ANY($3::text[]) RETURNING ${COLUMNS}`,
};

/** The statements about animals. */
@Injectable()
export class PetsRepository {
  private readonly joined: JoinedInserts<NewPet, Pet>;

  constructor(private readonly sql: Sql) {
    this.joined = new JoinedInserts((pets) => this.insertAll(pets), sql.maxWaitMs);
  }

  /** Lists at most `count` animals after the id `after`, by ascending id. The cost does not grow with the depth. */
  list(after: bigint | undefined, count: number, status?: PetStatus): Promise<Pet[]> {
    return status === undefined
      ? this.sql.rows<Pet>(LIST_PETS, [after ?? MIN_INT64, count])
      : this.sql.rows<Pet>(LIST_PETS_BY_STATUS, [after ?? MIN_INT64, count, status]);
  }

  async find(id: bigint, transaction?: EntityManager): Promise<Pet | undefined> {
    const [pet] = await this.sql.rows<Pet>(FIND, [id], transaction);
    return pet;
  }

  /** Locks the row until the transaction ends, and returns it. */
  async lock(id: bigint, transaction: EntityManager): Promise<Pet | undefined> {
    const [pet] = await this.sql.rows<Pet>(LOCK, [id], transaction);
    return pet;
  }

  insert(pet: NewPet, transaction?: EntityManager): Promise<Pet> {
    return transaction || !this.sql.isPipelining ? this.insertOne(pet, transaction) : this.joined.add(pet);
  }

  /** Changes the status if it is one of `from`. @returns undefined if it is not, or the animal does not exist */
  async changeStatus(
    id: bigint,
    to: PetStatus,
    from: readonly PetStatus[],
    transaction: EntityManager,
  ): Promise<Pet | undefined> {
    const [pet] = await this.sql.rows<Pet>(CHANGE_STATUS, [id, to, from], transaction);
    return pet;
  }

  private async insertOne(
    { name, categoryId, status }: NewPet,
    transaction: EntityManager | undefined,
  ): Promise<Pet> {
    const [pet] = await this.sql.rows<Pet>(INSERT, [name, categoryId, status], transaction);
    if (!pet) throw new Error('INSERT … RETURNING returned no row');
    return pet;
  }

  private async insertAll(pets: readonly NewPet[]): Promise<readonly Pet[]> {
    const rows = await this.sql.rows<Pet>(INSERT_ALL, [
      pets.map(({ name }) => name),
      pets.map(({ categoryId }) => categoryId),
      pets.map(({ status }) => status),
    ]);
    // PostgreSQL returns the rows in the order of insertion, but does not promise it.
    return rows.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }
}
