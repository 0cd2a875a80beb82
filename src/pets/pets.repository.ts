import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Batches } from '../database/batches';
import { Sql, type Statement } from '../database/sql';
import { pages } from '../api/lists/lists';
import type { PetStatus } from './pet-status';
import { NEW_PET_COLUMNS, PET_COLUMNS, PetEntity } from './pet.entity';
import type { NewPet, Pet, PetUpdate } from './pets.dto';

/** The columns of an animal, named as its members. */
export const SELECTED_PET_COLUMNS = PET_COLUMNS.map(({ member, name }) => `${name} AS "${member}"`).join();

/** In the order of the columns. A loop over them would take six times as long. */
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
  { table: 'pets', columns: SELECTED_PET_COLUMNS, read },
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

const FIND: Statement = {
  read,
  isPipelined: true,
  // With the array itself PostgreSQL would plan each execution of few ids anew, which takes as long as to run it.
  text: `SELECT ${SELECTED_PET_COLUMNS} FROM pets WHERE id = ANY((SELECT $1::bigint[])::bigint[])`,
};

const GIVEN = NEW_PET_COLUMNS.map(({ name }) => name).join();
const ARRAYS = NEW_PET_COLUMNS.map(({ type }, at) => `$${at + 1}::${type}[]`).join();

/** The ids ascend in the order of the arrays. */
const INSERT: Statement = {
  read,
  text: `
    INSERT INTO pets (${GIVEN}) SELECT ${GIVEN}
    FROM unnest(${ARRAYS}) WITH ORDINALITY AS added (${GIVEN}, position)
    ORDER BY position RETURNING ${SELECTED_PET_COLUMNS}`,
};

/** Conditional update: of concurrent changes exactly one succeeds. The others find the status changed and update nothing. */
const CHANGE_STATUS: Statement = {
  read,
  text: `UPDATE pets SET status = $2 WHERE id = $1 AND status = ANY($3::text[]) RETURNING ${SELECTED_PET_COLUMNS}`,
};

/** Longest time in which single animals wait for those that are being read. A local database takes less. */
const MAX_BLOCK_MS = 2;

/** The animals in the database: prepared statements where speed counts, and TypeORM's entities elsewhere. */
@Injectable()
export class PetsRepository {
  private readonly inserts: Batches<NewPet, Pet>;
  private readonly finds: Batches<bigint, Pet | undefined>;

  constructor(private readonly sql: Sql) {
    const bounds = { maxRunning: 1, maxWaitMs: sql.maxWaitMs };
    this.inserts = new Batches((pets) => this.insertAll(pets), bounds);
    this.finds = new Batches((ids) => this.findAll(ids), { ...bounds, maxBlockMs: MAX_BLOCK_MS });
  }

  /** Finds an animal. Outside of a transaction one statement finds all that are asked for at the same time. */
  async find(id: bigint, transaction?: EntityManager): Promise<Pet | undefined> {
    if (!transaction && this.sql.isPipelining) return this.finds.add(id);
    return (await this.findAll([id], transaction))[0];
  }

  private async findAll(ids: readonly bigint[], transaction?: EntityManager) {
    const pets = await this.sql.rows<Pet>(FIND, [ids], transaction);
    const byId = new Map(pets.map((pet) => [pet.id, pet]));
    // Each request has an object of its own, which an extension may change.
    return ids.map((id) => {
      const pet = byId.get(id);
      return pet && Object.assign({}, pet);
    });
  }

  /** Locks the row until the transaction ends, and returns it. */
  lock(id: bigint, transaction: EntityManager): Promise<Pet | null> {
    return transaction.findOne(PetEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  /** Adds an animal, with one statement for all that arrive at the same time. */
  insert(pet: NewPet): Promise<Pet> {
    return this.inserts.add(pet);
  }

  /** Adds animals with one statement. @returns them in the same order, in which their ids ascend */
  async insertAll(pets: readonly NewPet[], transaction?: EntityManager): Promise<readonly Pet[]> {
    const columns = NEW_PET_COLUMNS.map(({ member }) => pets.map((pet): unknown => Reflect.get(pet, member)));
    const rows = await this.sql.rows<Pet>(INSERT, columns, transaction);
    // PostgreSQL returns the rows in the order of insertion, but does not promise it.
    return rows.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** Changes the given members. @returns the changed animal */
  async update(previous: Pet, change: PetUpdate, transaction: EntityManager): Promise<Pet> {
    await transaction.update(PetEntity, { id: previous.id }, change);
    return transaction.merge<Pet>(PetEntity, transaction.create(PetEntity), previous, change);
  }

  async delete({ id }: Pet, transaction: EntityManager): Promise<void> {
    await transaction.delete(PetEntity, { id });
  }

  /** Changes the status if it is one of `from`. @returns undefined if it is not, or the animal does not exist */
  async changeStatus(id: bigint, to: PetStatus, from: readonly PetStatus[], transaction: EntityManager) {
    return (await this.sql.rows<Pet>(CHANGE_STATUS, [id, to, from], transaction))[0];
  }
}
