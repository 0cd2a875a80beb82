import { Inject, Injectable } from '@nestjs/common';
import { InjectEntityManager } from '@nestjs/typeorm';
import { type CustomTypesConfig, type Pool, type QueryConfig, types } from 'pg';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { COMMIT } from './bounded-client';
import { isResultLost, OutcomeUnknownError } from './database-errors';

/** An SQL statement, prepared once per connection under its name; each text needs its own name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** TypeORM's result of UPDATE and DELETE: the rows of RETURNING, and the number of changed rows. */
type Changed<Row> = [rows: Row[], count: number];

/** Statements without a change: if their result is lost, the request can be retried. */
const READS = /^\s*SELECT\b/;

/** Reads int8 as bigint: a number would round it. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format)),
};

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
   * Returns the rows of a SELECT, or of a change with RETURNING; int8 columns are bigints.
   *
   * @param transaction runs the statement in this transaction; default: in its own
   * @throws OutcomeUnknownError if a change in its own transaction was sent and the connection was lost
   */
  async rows<Row>(
    statement: Statement,
    parameters: readonly unknown[],
    transaction?: EntityManager,
  ): Promise<Row[]> {
    if (!transaction) return await this.ownRows<Row>(statement, parameters);
    // TypeORM passes the first argument unchanged to pg's `query`, which accepts a named statement too.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const query = this.queryOf(statement) as unknown as string;
    const result = await transaction.query<Row[] | Changed<Row>>(query, [...parameters]);
    return isChanged(result) ? result[0] : result;
  }

  /**
   * Runs work in a transaction: commits if it resolves, rolls back if it rejects.
   *
   * @param outer a running transaction that the work joins; its owner commits
   * @throws OutcomeUnknownError if the commit was sent and the connection was lost
   */
  async transaction<T>(work: (transaction: EntityManager) => Promise<T>, outer?: EntityManager): Promise<T> {
    if (outer) return work(outer);
    try {
      return await this.manager.transaction(work);
    } catch (error) {
      // If the connection is lost before the commit is sent, the server rolls back.
      throw isResultLost(error) && error.query === COMMIT ? new OutcomeUnknownError(error) : error;
    }
  }

  /** Runs a single statement without TypeORM's query runner. An error of `connect` means that nothing was sent. */
  private async ownRows<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const client = await this.pool.connect();
    try {
      const { rows } = await client.query(this.queryOf(statement), [...parameters]);
      client.release();
      return rows;
    } catch (error) {
      client.release(true);
      if (!(error instanceof Error)) throw error;
      const failure = new QueryFailedError(statement.text, [...parameters], error);
      throw !READS.test(statement.text) && isResultLost(failure) ? new OutcomeUnknownError(failure) : failure;
    }
  }

  private queryOf(statement: Statement): QueryConfig {
    return { name: this.usesPrepared ? statement.name : undefined, text: statement.text, types: TYPES };
  }
}

/** Returns TypeORM's connection pool. */
function poolOf({ dataSource: { driver } }: EntityManager): Pool {
  if (!(driver instanceof PostgresDriver)) throw new Error('the database is PostgreSQL');
  return driver.master;
}

function isChanged<Row>(result: Row[] | Changed<Row>): result is Changed<Row> {
  return typeof result[1] === 'number';
}
