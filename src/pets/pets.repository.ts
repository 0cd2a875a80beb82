import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Batches } from '../database/batches';
import { Sql, type Statement } from '../database/sql';
import { pages } from '../api/lists/lists';
import type { PetStatus } from './pet-status';
import { PetEntity } from './pet.entity';
import type { NewPet, Pet } from './pets.dto';

/** The columns that a creation gives, and those of an animal in the order of `read`. */
export const NEW_PET_COLUMNS = 'name, category_id, status';
export const PET_COLUMNS = 'id, name, category_id AS "categoryId", status';

const read = ([id, name, categoryId, status]: [bigint, string, bigint, PetStatus]): Pet => ({
  id,
  name,
  categoryId,
  status,
});

/**
 * The words of a name, as the index of the migrations has them, and those of a text that a name must have: the last one may
 * be a beginning, unless it is one character. A word of the index, such as `#7`, is the block of 16,384 ids of the animal.
 */
const NAME_WORDS = `array_to_tsvector(string_to_array(
  CASE WHEN name COLLATE "C" ~ '^[A-Za-z0-9]+( [A-Za-z0-9]+)*$' THEN lower(name COLLATE "C") ELSE pet_words(name) END, ' ')
  || ('#' || (id >> 14)::text))`;
const wordsOf = (text: string) =>
  String.raw`regexp_replace('''' || replace(nullif(pet_words(${text}), ''), ' ', ''' & ''') || ''':*', '''(.)'':\*$', '''\1''')::tsquery`;

export const petPages = pages(
  {
    table: 'pets',
    columns: PET_COLUMNS,
    read,
  },
  {
    filters: { categoryId: 'category_id', status: 'status' },
    ids: 'id',
    search: {
      member: 'q',
      condition: `${NAME_WORDS} @@ ${wordsOf('$value')}`,
      // Three blocks have at least the next 32,768 ids.
      near: (first, step) =>
        `${NAME_WORDS} @@ (SELECT string_agg('''#' || (${first} >> 14) ${step} block || '''', ' | ')::tsquery FROM generate_series(0, 2) AS block)`,
    },
  },
);

const FIND: Statement = { read, isPipelined: true, text: `SELECT ${PET_COLUMNS} FROM pets WHERE id = $1` };

/** The ids ascend in the order of the arrays. */
const INSERT: Statement = {
  read,
  text: `
    INSERT INTO pets (${NEW_PET_COLUMNS}) SELECT ${NEW_PET_COLUMNS}
    FROM unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS added (${NEW_PET_COLUMNS}, position)
    ORDER BY position RETURNING ${PET_COLUMNS}`,
};

/** Conditional update: of concurrent changes exactly one succeeds. The others find the status changed and update nothing. */
const CHANGE_STATUS: Statement = {
  read,
  text: `UPDATE pets SET status = $2 WHERE id = $1 AND status = ANY($3::text[]) RETURNING ${PET_COLUMNS}`,
};

/** The animals in the database: prepared statements where speed counts, and TypeORM's entities elsewhere. */
@Injectable()
export class PetsRepository {
  private readonly inserts: Batches<NewPet, Pet>;

  constructor(private readonly sql: Sql) {
    this.inserts = new Batches((pets) => this.insertAll(pets), { maxRunning: 1, maxWaitMs: sql.maxWaitMs });
  }

  async find(id: bigint, transaction?: EntityManager): Promise<Pet | undefined> {
    const [pet] = await this.sql.rows<Pet>(FIND, [id], transaction);
    return pet;
  }

  /** Locks the row until the transaction ends, and returns it. */
  lock(id: bigint, transaction: EntityManager): Promise<Pet | null> {
    return transaction.findOne(PetEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  async insert(pet: NewPet, transaction?: EntityManager): Promise<Pet> {
    if (!transaction && this.sql.isPipelining) return this.inserts.add(pet);
    const [inserted] = await this.insertAll([pet], transaction);
    if (!inserted) throw new Error('INSERT … RETURNING returned no row');
    return inserted;
  }

  /** Adds animals with one statement. @returns them in the same order, in which their ids ascend */
  async insertAll(pets: readonly NewPet[], transaction?: EntityManager): Promise<readonly Pet[]> {
    const columns = (['name', 'categoryId', 'status'] as const).map((name) => pets.map((pet) => pet[name]));
    const rows = await this.sql.rows<Pet>(INSERT, columns, transaction);
    // PostgreSQL returns the rows in the order of insertion, but does not promise it.
    return rows.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  async update({ id, ...pet }: Pet, transaction: EntityManager): Promise<void> {
    await transaction.update(PetEntity, { id }, pet);
  }

  async delete({ id }: Pet, transaction: EntityManager): Promise<void> {
    await transaction.delete(PetEntity, { id });
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
}
