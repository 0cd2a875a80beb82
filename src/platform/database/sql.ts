import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectEntityManager } from '@nestjs/typeorm';
import { type CustomTypesConfig, type Pool, type QueryConfig, types } from 'pg';
import type { EntityManager } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { COMMIT, isReadOnly } from './bounded-client';
import { connectionsOf } from './data-source';
import { failureOf, isResultLost, OutcomeUnknownError } from './database-errors';
import { PipelinedReads } from './pipelined-reads';

/** An SQL statement, prepared once per connection under its name; each text needs its own name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** True for a quick SELECT of the request path. Outside of a transaction several of them share a connection. */
  readonly isPipelined?: true;
}

/** TypeORM's result of UPDATE and DELETE: the rows of RETURNING, and the number of changed rows. */
type Changed<Row> = [rows: Row[], count: number];

/** Reads int8 as bigint: a number would round it. */
const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format)),
};

/** Runs hand-written statements on TypeORM's pool, without its query builder and entity hydration. */
@Injectable()
export class Sql implements OnApplicationShutdown {
  private readonly usesPrepared: boolean;
  private readonly pool: Pool;
  private readonly reads: PipelinedReads | undefined;

  constructor(
    @InjectEntityManager() private readonly manager: EntityManager,
    @Inject(CONFIG) config: Config,
  ) {
    this.usesPrepared = config.databasePreparedStatements;
    this.pool = poolOf(manager);
    const { pipelined } = connectionsOf(config);
    if (pipelined > 0) {
      this.reads = new PipelinedReads(this.pool.options, pipelined, (query, parameters) =>
        this.runOnPool(query, parameters),
      );
    }
  }

  /** False if DATABASE_PIPELINING is off: then each statement has a connection of its own. */
  get isPipelining(): boolean {
    return this.reads !== undefined;
  }

  /** Runs after the last response. */
  async onApplicationShutdown(): Promise<void> {
    await this.reads?.close();
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
    if (!transaction) {
      const query = this.queryOf(statement);
      const rows =
        this.reads && statement.isPipelined
          ? await this.reads.rows(query, [...parameters])
          : await this.runOnPool(query, [...parameters]);
      // The caller names the type of the statement's rows.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return rows as Row[];
    }
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
  private async runOnPool(query: QueryConfig, parameters: unknown[]): Promise<unknown[]> {
    const client = await this.pool.connect();
    try {
      const { rows } = await client.query(query, parameters);
      client.release();
      return rows;
    } catch (error) {
      client.release(true);
      if (isReadOnly(error)) this.reads?.renew();
      throw failureOf(query, parameters, error);
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
