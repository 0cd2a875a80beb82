import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { InjectEntityManager } from '@nestjs/typeorm';
import type { Pool, QueryConfig, QueryResult } from 'pg';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { CONFIG, type Config } from '../config/config';
import { CoalescedRead } from './coalesced-read';
import { BoundedClient } from './data-source';
import { asUnavailable, connectionFault, isUnusable, OutcomeUnknownError } from './database-errors';

/** An SQL statement. Each connection prepares it once. */
export interface Statement {
  readonly text: string;
  /** Makes a row from the values of its columns, in half of the time that node-postgres takes. Default: by their names. */
  readonly read?: (columns: never) => unknown;
  /** True for a quick SELECT of the request path. Outside of a transaction several of them share a connection. */
  readonly isPipelined?: true;
  /** True if the best plan depends on the values: no connection prepares it. */
  readonly isPlannedAnew?: true;
}

/** The form of a UUID, in SQL and in JavaScript: PostgreSQL rejects any other text with a syntax error. */
export const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

/** Locks no row, but fails on a standby, or if a pooler begins a transaction for a change with parameters. */
const PING = 'SELECT id FROM migrations LIMIT $1 FOR UPDATE';
const CHECK_INTERVAL_MS = 60_000;

/** Runs hand-written statements on TypeORM's pool, without its query builder and entity hydration. */
@Injectable()
export class Sql {
  private readonly pool: Pool;
  private readonly reads: PipelinedReads | undefined;
  /** The statements in the form that node-postgres takes, by their text: those that `read` takes, and the others. */
  private readonly arrayQueries = new Map<string, QueryConfig>();
  private readonly objectQueries = new Map<string, QueryConfig>();
  private readonly pings = new CoalescedRead<unknown>();
  private checkedAt = performance.now();
  /** Longest wait of a statement before it is sent: DATABASE_POOL_WAIT_MS. @internal */
  readonly maxWaitMs: number;

  /** @internal */
  constructor(
    @InjectEntityManager() private readonly manager: EntityManager,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    const { driver } = manager.dataSource;
    if (!(driver instanceof PostgresDriver)) throw new Error('the database is PostgreSQL');
    this.pool = driver.master;
    this.maxWaitMs = config.databasePoolWaitMs;
    // The start, which may wait longer, has opened its connection.
    this.pool.options.connectionTimeoutMillis = this.maxWaitMs;
    // The pool leaves them.
    const pipelined = config.databasePoolSize - this.pool.options.max;
    if (pipelined > 0) this.reads = new PipelinedReads(this.pool, pipelined);
  }

  /** False if DATABASE_PIPELINING is off: then each statement has a connection of its own. @internal */
  get isPipelining(): boolean {
    return this.reads !== undefined;
  }

  /** Runs after the last response. @internal */
  onApplicationShutdown(): void {
    this.reads?.end();
  }

  /**
   * Returns the rows of a SELECT, or of a change with RETURNING; int8 columns are bigints.
   *
   * @param given a constant text, or a statement with more than its text
   * @param transaction runs the statement in this transaction; default: in its own
   * @throws OutcomeUnknownError if a change in its own transaction was sent and the connection was lost
   */
  rows<Row>(
    given: Statement | string,
    parameters: readonly unknown[],
    transaction?: EntityManager,
  ): Promise<Row[]> {
    const statement: Statement = typeof given === 'string' ? { text: given } : given;
    const found = this.run(statement, [...parameters], transaction);
    const { read } = statement;
    // The caller names the type of the statement's rows.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return (read ? found.then((rows) => rows.map((row) => read(row as never))) : found) as Promise<Row[]>;
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
      throw isResultLost(error) && error.query === 'COMMIT' ? new OutcomeUnknownError(error) : error;
    }
  }

  /**
   * Checks that the database is available and writable, and by `check`, a minute after its last success, the schema.
   * Concurrent calls share queries. @throws Error, which is 503 @internal
   */
  async ping(check: () => Promise<void>): Promise<void> {
    try {
      await this.pings.read('ping', async () => {
        // One lost connection says nothing of the database: after a failover, some lead to the old primary.
        await this.rows(PING, [0]).catch((error: unknown) => {
          if (connectionFault(error) === 'late') throw error;
          return this.rows(PING, [0]);
        });
        if (performance.now() - this.checkedAt < CHECK_INTERVAL_MS) return;
        await check();
        this.checkedAt = performance.now();
      });
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  private run(statement: Statement, parameters: unknown[], transaction?: EntityManager): Promise<unknown[]> {
    const queries = statement.read ? this.arrayQueries : this.objectQueries;
    const query = queries.get(statement.text) ?? this.prepare(statement, queries);
    const runner = transaction?.queryRunner;
    if (!runner) {
      return this.reads && statement.isPipelined
        ? this.reads.rows(query, parameters)
        : runOnPool(this.pool, query, parameters);
    }
    // TypeORM passes the first argument unchanged to pg's `query`, which accepts a named statement too.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return runner.query(query as unknown as string, parameters, true).then(({ records }) => records);
  }

  private prepare({ text, read, isPlannedAnew }: Statement, queries: Map<string, QueryConfig>): QueryConfig {
    // A pooler may have no prepared statements.
    const isNamed = this.config.databasePreparedStatements && !isPlannedAnew;
    const rowMode = read ? { rowMode: 'array' } : {};
    const config = { name: isNamed ? nameOf(text) : undefined, text, ...rowMode };
    // node-postgres copies the own properties of a query at each execution, in more time than it takes to send it.
    const query: QueryConfig = Object.create(config);
    queries.set(text, query);
    return query;
  }
}

/** Runs a single statement without TypeORM's query runner. An error of `connect` means that nothing was sent. */
async function runOnPool(pool: Pool, query: QueryConfig, parameters: unknown[]): Promise<unknown[]> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query(query, parameters);
    client.release();
    return rows;
  } catch (error) {
    client.release(true);
    throw failureOf(query, parameters, error);
  }
}

/** Statements without a change: if their result is lost, the request can be retried. */
const READS = /^\s*SELECT\b/;

/** Returns the error of a single statement that was sent, from the error of node-postgres. */
function failureOf(query: QueryConfig, parameters: unknown[], error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const failure = new QueryFailedError(query.text, parameters, error);
  return !READS.test(query.text) && isResultLost(failure) ? new OutcomeUnknownError(failure) : failure;
}

/** Returns true if a statement was sent and the connection was lost before its result arrived. */
function isResultLost(error: unknown): error is QueryFailedError {
  // TypeORM wraps every error of a statement; other errors occurred before it.
  return error instanceof QueryFailedError && ['late', 'lost'].includes(connectionFault(error) ?? '');
}

/** Names a prepared statement after its table and its text, such as `pets_insert_…`: two modules cannot collide. */
function nameOf(text: string): string {
  const [, table = ''] = /\b(?:from|into|update)\s+(\w{1,30})/i.exec(text) ?? [];
  const [verb = ''] = /\w+/.exec(text) ?? [];
  return `${table}_${verb.toLowerCase()}_${hash('sha256', text, 'base64url').slice(0, 22)}`;
}

const MAX_IN_FLIGHT = 32;
/** No read is sent behind one that was sent this long ago. */
const MAX_AGE_MS = 20;
const REOPEN_INTERVAL_MS = 1_000;

interface Connection {
  readonly client: BoundedClient;
  /** When each read under way was sent, by performance.now(), the oldest first: results arrive in this order. */
  readonly sent: number[];
  isOpen: boolean;
  /** True after the read that the server works at has taken too long. Those behind it may have their timers in its turn. */
  isStuck: boolean;
  /** Closes it, unless a read under way restarts it. */
  readonly idle: NodeJS.Timeout;
}

/**
 * Sends single SELECTs over a few connections without waiting for the results of earlier ones (decision 20). The
 * pool runs a read if no connection accepts it, and repeats a read whose connection is lost.
 */
class PipelinedReads {
  private readonly connections = new Set<Connection>();
  private openedAt = -Infinity;

  constructor(
    private readonly pool: Pool,
    private count: number,
  ) {}

  rows(query: QueryConfig, parameters: unknown[]): Promise<unknown[]> {
    const now = performance.now();
    if (this.connections.size < this.count) this.openMissing(now);
    const connection = this.leastLoaded(now);
    if (!connection) return runOnPool(this.pool, query, parameters);
    // All reads of one turn of the event loop are sent with one system call.
    const { stream } = connection.client.connection;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(() => stream.uncork());
    }
    connection.sent.push(now);
    connection.idle.refresh();
    return new Promise((resolve, reject) => {
      const settle = (error: Error | undefined, result: QueryResult): void => {
        connection.sent.shift();
        if (!error) return resolve(result.rows);
        if (isUnusable(error)) this.close(connection);
        const fault = connectionFault(error);
        const isRepeatable = fault === 'late' ? connection.isStuck : fault !== undefined;
        connection.isStuck ||= fault === 'late';
        if (isRepeatable) resolve(runOnPool(this.pool, query, parameters));
        else reject(failureOf(query, parameters, error));
      };
      // With a callback node-postgres makes no promises of its own.
      connection.client.query(query, parameters, settle);
    });
  }

  /** Opens no further connection. Those that are open end after their last read. */
  end(): void {
    this.count = 0;
    for (const connection of this.connections) this.close(connection);
  }

  private leastLoaded(now: number): Connection | undefined {
    let best: Connection | undefined;
    for (const each of this.connections) {
      const { sent, isOpen } = each;
      const isPrompt = now - (sent[0] ?? now) <= MAX_AGE_MS;
      if (isOpen && isPrompt && sent.length < (best?.sent.length ?? MAX_IN_FLIGHT)) best = each;
    }
    return best;
  }

  private openMissing(now: number): void {
    if (now - this.openedAt < REOPEN_INTERVAL_MS) return;
    this.openedAt = now;
    for (let missing = this.count - this.connections.size; missing > 0; missing -= 1) void this.openOne();
  }

  private async openOne(): Promise<void> {
    const { options } = this.pool;
    const client = new BoundedClient({ ...options, pipeline: true });
    const idle = setTimeout(() => this.close(connection), Number(options.idleTimeoutMillis)).unref();
    const connection: Connection = { client, sent: [], isOpen: false, isStuck: false, idle };
    this.connections.add(connection);
    client.once('end', () => this.connections.delete(connection));
    try {
      await client.connect();
      connection.isOpen = true;
      if (!this.connections.has(connection)) void client.end();
    } catch {
      // The pool reports a database that is unavailable.
      this.connections.delete(connection);
    }
  }

  private close(connection: Connection): void {
    clearTimeout(connection.idle);
    const isFirst = this.connections.delete(connection);
    if (isFirst && connection.isOpen) void connection.client.end();
  }
}
