import type { Type } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { EntityManager } from 'typeorm';
import {
  type ApiError,
  cutPage,
  type IdempotentWork,
  type Links,
  type PageQuery,
  pageRequestOf,
  preconditionOf,
  type Sql,
} from '../../../src';

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
    readonly taken: () => ApiError;
    readonly unknown: () => ApiError;
    readonly type: Type<Row>;
  };

  constructor(
    readonly sql: Sql,
    readonly links: Links,
    readonly idempotent: IdempotentWork,
  ) {}

  async list(query: PageQuery, reply: FastifyReply): Promise<unknown> {
    const request = pageRequestOf(this.facts.path, query);
    return this.links.page(reply, cutPage(request, await this.rows(request.first, request.count)));
  }

  create(body: NewRow, reply: FastifyReply): Promise<unknown> {
    return this.idempotent.run(reply, async (transaction) =>
      this.links.created(reply, this.facts.path, await this.insert(body, transaction)),
    );
  }

  async get(id: bigint): Promise<unknown> {
    const row = await this.find(id);
    if (!row) throw this.facts.unknown();
    return row;
  }

  update(id: bigint, { note }: Pick<NewRow, 'note'>, reply: FastifyReply): Promise<unknown> {
    return this.sql.transaction(async (transaction) => {
      preconditionOf(reply, this.facts.type)(await this.lock(id, transaction));
      return this.write(id, note ?? null, transaction);
    });
  }

  remove(id: bigint, reply: FastifyReply): Promise<unknown> {
    return this.sql.transaction(async (transaction) => {
      preconditionOf(reply, this.facts.type)(await this.lock(id, transaction));
      await this.delete(id, transaction);
    });
  }

  rows(first: bigint, count: number, order = 'ASC'): Promise<Row[]> {
    const { table } = this.facts;
    const text = `SELECT * FROM ${table} WHERE id >= $1 ORDER BY id ${order} LIMIT $2`;
    return this.sql.rows<Row>({ name: `${table}_list_${order}`, text }, [first, count]);
  }

  async find(id: bigint): Promise<Row | undefined> {
    const { table } = this.facts;
    const statement = { name: `${table}_find`, text: `SELECT * FROM ${table} WHERE id = $1` };
    return (await this.sql.rows<Row>(statement, [id]))[0];
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
    const statement = { name: `${table}_insert`, text };
    return (await this.sql.rows<Row>(statement, [name, weight, places, note], transaction))[0];
  }

  async lock(id: bigint, transaction: EntityManager): Promise<Row> {
    const text = `SELECT * FROM ${this.facts.table} WHERE id = $1 FOR UPDATE`;
    const [row] = await this.sql.rows<Row>({ name: `${this.facts.table}_lock`, text }, [id], transaction);
    if (!row) throw this.facts.unknown();
    return row;
  }

  /** Changes the note of an item. */
  async write(id: bigint, note: string | null, transaction?: EntityManager): Promise<Row | undefined> {
    const text = `UPDATE ${this.facts.table} SET note = $2 WHERE id = $1 RETURNING *`;
    const statement = { name: `${this.facts.table}_update`, text };
    return (await this.sql.rows<Row>(statement, [id, note], transaction))[0];
  }

  async delete(id: bigint, transaction?: EntityManager): Promise<void> {
    const text = `DELETE FROM ${this.facts.table} WHERE id = $1`;
    await this.sql.rows({ name: `${this.facts.table}_delete`, text }, [id], transaction);
  }
}
