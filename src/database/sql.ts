import { Inject, Injectable } from '@nestjs/common';
import { InjectEntityManager } from '@nestjs/typeorm';
import { type CustomTypesConfig, type Pool, type QueryConfig, types } from 'pg';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { isAnswerLost, OutcomeUnknownError } from './database-errors';

/** One SQL statement, prepared once on each connection under its name: two texts must not share one. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** What TypeORM makes of UPDATE and DELETE: the rows of RETURNING, and how many were changed. */
type Changed<Row> = [rows: Row[], count: number];

/** Statements that change nothing by themselves: whether one was done makes no difference. */
const READS = /^\s*SELECT\b/;

/** An int8 as a bigint: a number would round it. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format)),
};

/** As TypeORM sends it. */
const COMMIT = 'COMMIT';

/** Runs hand-written statements on TypeORM's pool, without its query builder and entity hydration. */
@Injectable()
export class Sql {
  private readonly usesPrepared: boolean;
  private readonly pool: Pool;

  constructor(
    @InjectEntityManager() private readonly manager: EntityManager,
    @Inject(CONFIG) config: Config,
  ) {
    this.usesPrepared = config.databasePreparedStatements;
    this.pool = poolOf(manager);
  }

  /**
   * The rows of a SELECT or of a change with RETURNING; int8 columns are bigints.
   *
   * @param transaction the transaction that the statement belongs to; without one it is its own
   * @throws OutcomeUnknownError where it was its own, and the connection was lost before the answer came
   */
  async rows<Row>(
    statement: Statement,
    parameters: readonly unknown[],
    transaction?: EntityManager,
  ): Promise<Row[]> {
    if (!transaction) return await this.ownRows<Row>(statement, parameters);
    // TypeORM hands the first argument to pg's `query` untouched, which takes a named text too.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const query = this.queryOf(statement) as unknown as string;
    const result = await transaction.query<Row[] | Changed<Row>>(query, [...parameters]);
    return isChanged(result) ? result[0] : result;
  }

  /**
   * Runs work in a transaction: committed where it resolves, rolled back where it rejects.
   *
   * @param outer a transaction that has begun already; the work joins it, and its owner commits
   * @throws OutcomeUnknownError where the connection was lost before the answer to the commit came
   */
  async transaction<T>(work: (transaction: EntityManager) => Promise<T>, outer?: EntityManager): Promise<T> {
    if (outer) return work(outer);
    try {
      return await this.manager.transaction(work);
    } catch (error) {
      // Until the commit is sent, a transaction that ends is rolled back.
      throw isAnswerLost(error) && error.query === COMMIT ? new OutcomeUnknownError(error) : error;
    }
  }

  /** Past TypeORM's query runner: a single statement does not need it. What fails before a connection is had was not sent. */
  private async ownRows<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const client = await this.pool.connect();
    try {
      const { rows } = await client.query(this.queryOf(statement), [...parameters]);
      client.release();
      return rows;
    } catch (error) {
      client.release(true);
      if (!isError(error)) throw error;
      const failure = new QueryFailedError(statement.text, [...parameters], error);
      throw !READS.test(statement.text) && isAnswerLost(failure) ? new OutcomeUnknownError(failure) : failure;
    }
  }

  private queryOf(statement: Statement): QueryConfig {
    return { name: this.usesPrepared ? statement.name : undefined, text: statement.text, types: TYPES };
  }
}

/** The pool that TypeORM owns. */
function poolOf({ dataSource: { driver } }: EntityManager): Pool {
  if (!(driver instanceof PostgresDriver)) throw new Error('the database is PostgreSQL');
  return driver.master;
}

/** Not `instanceof`: in jest's sandbox `Error` is another class than the one of a socket's errors. */
function isError(error: unknown): error is Error {
  return typeof error === 'object' && error !== null && 'message' in error;
}

function isChanged<Row>(result: Row[] | Changed<Row>): result is Changed<Row> {
  return typeof result[1] === 'number';
}
