import type { FastifyReply } from 'fastify';
import type { EntityManager } from 'typeorm';
import type { Precondition, SortedPageQuery, Sql } from '../../../src';
import type { Pages } from '../../../src/platform/database/lists';
import type { ApiError } from '../../../src/platform/errors/api-error';

export interface NewRow {
  readonly name: string;
  readonly weight?: bigint | number;
  readonly places?: number;
  readonly note?: string | null;
}

export interface Row extends NewRow {
  readonly id: bigint;
}

/** The handlers of a correct extension. A planted mistake replaces one of them. */
export abstract class Items {
  abstract readonly facts: {
    readonly path: string;
    readonly table: string;
    readonly pages: Pages<Row, never>;
    readonly taken: () => ApiError;
    readonly unknown: () => ApiError;
  };

  constructor(readonly sql: Sql) {}

  /** @param _reply for the mistakes that use it, here and below */
  list(query: SortedPageQuery, _reply: FastifyReply): Promise<unknown> {
    return this.facts.pages.list(this.sql, query);
  }

  create(body: NewRow, _reply: FastifyReply, transaction?: EntityManager): Promise<unknown> {
    return this.insert(body, transaction);
  }

  async get(id: bigint): Promise<unknown> {
    const row = await this.find(id);
    if (!row) throw this.facts.unknown();
    return row;
  }

  update(id: bigint, { note }: Pick<NewRow, 'note'>, precondition: Precondition<object>): Promise<unknown> {
    return this.sql.transaction(async (transaction) => {
      precondition(await this.lock(id, transaction));
      return this.write(id, note ?? null, transaction);
    });
  }

  remove(id: bigint, precondition: Precondition<object>): Promise<unknown> {
    return this.sql.transaction(async (transaction) => {
      precondition(await this.lock(id, transaction));
      await this.delete(id, transaction);
    });
  }

  rows(first: bigint, count: number, order = 'ASC'): Promise<Row[]> {
    const { table } = this.facts;
    const text = `SELECT * FROM ${table} WHERE id >= $1 ORDER BY id ${order} LIMIT $2`;
    return this.sql.rows<Row>({ text }, [first, count]);
  }

  async find(id: bigint): Promise<Row | undefined> {
    const { table } = this.facts;
    const text = `SELECT * FROM ${table} WHERE id = $1`;
    return (await this.sql.rows<Row>({ text }, [id]))[0];
  }

  async insert(body: NewRow, transaction?: EntityManager): Promise<Row> {
    const row = await this.tryInsert(body, transaction);
    if (!row) throw this.facts.taken();
    return row;
  }

  /** @returns undefined if the name is taken */
  async tryInsert(
    { name, weight = 5, places = 12, note = null }: NewRow,
    transaction?: EntityManager,
  ): Promise<Row | undefined> {
    const { table } = this.facts;
    const text = `INSERT INTO ${table} (name, weight, places, note) VALUES ($1, $2, $3, $4)
      ON CONFLICT DO NOTHING RETURNING *`;
    return (await this.sql.rows<Row>({ text }, [name, weight, places, note], transaction))[0];
  }

  async lock(id: bigint, transaction: EntityManager): Promise<Row> {
    const text = `SELECT * FROM ${this.facts.table} WHERE id = $1 FOR UPDATE`;
    const [row] = await this.sql.rows<Row>({ text }, [id], transaction);
    if (!row) throw this.facts.unknown();
    return row;
  }

  /** Changes the note of an item. */
  async write(id: bigint, note: string | null, transaction?: EntityManager): Promise<Row | undefined> {
    const text = `UPDATE ${this.facts.table} SET note = $2 WHERE id = $1 RETURNING *`;
    return (await this.sql.rows<Row>({ text }, [id, note], transaction))[0];
  }

  async delete(id: bigint, transaction?: EntityManager): Promise<void> {
    const text = `DELETE FROM ${this.facts.table} WHERE id = $1`;
    await this.sql.rows({ text }, [id], transaction);
  }
}
