import { callbackify } from 'node:util';
import { Client, type ClientConfig, type CustomTypesConfig, Pool, type QueryResult, types } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config';
import { asUnavailable, connectionFault, isUnusable, unfired } from './database-errors';

/** `databaseUrl`: also of the embedded server. */
export type DatabaseConfig = Config & { readonly databaseUrl: string };

/** Each occupies one process of the server, and more than four serve no more requests. */
const MAX_PIPELINED = 4;

/** Longest run time of one statement in the server. The client times out a second later, if the server hangs. */
const STATEMENT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1_000;

/** Longest time in which a start or a command opens a connection: on a busy machine it takes seconds. */
export const START_WAIT_MS = 30_000;

/** Each change that a read-only server rejects must not cost the reads their connections. */
const RENEWAL_INTERVAL_MS = 1_000;

/** The settings of every session: the defaults of the server, the database and the role may differ. Its search_path stays. */
const SESSION_SETTINGS = {
  client_encoding: 'UTF8',
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '3',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  array_nulls: 'on',
  default_transaction_isolation: 'read committed',
  session_replication_role: 'origin',
  synchronous_commit: 'on',
  statement_timeout: String(STATEMENT_TIMEOUT_MS),
  lock_timeout: '2000',
  idle_in_transaction_session_timeout: '10000',
  idle_session_timeout: '0',
  // To compile a statement takes longer than to run it: the costs of `pet_words` make the planner do so.
  jit: 'off',
};

/** Selects what a session lacks. A cluster may wait for more copies of a commit. @param present SQL of a value now */
const lacking = (present: string): string => `
  SELECT name, value FROM (VALUES
    ${Object.entries(SESSION_SETTINGS)
      .map(([name, value]) => `('${name}', '${value}')`)
      .join(', ')}
  ) AS needed (name, value)
  WHERE name NOT IN ('synchronous_commit', 'session_replication_role')
    OR ${present} NOT IN ('on', 'remote_apply', 'origin')`;

/** A restore switches events off for its transaction. */
const SET_SESSION = `
  SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly", ARRAY(SELECT
    set_config('animal_store.events', 'on', false) || set_config(name, value, false) FROM (${lacking('current_setting(name)')}) AS lacking)`;

/** Sets the same for the role: a pooler gives each transaction another session. A role may lack the privilege. */
export const SET_ROLE = `
  DO $$ DECLARE lacking record; BEGIN
    FOR lacking IN ${lacking('(SELECT reset_val FROM pg_settings AS known WHERE known.name = needed.name)')} LOOP
      EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), lacking.name, lacking.value);
    END LOOP;
  EXCEPTION WHEN insufficient_privilege THEN NULL;
  END $$`;

/** Reads a time. One that is unreadable is an error: null would mean "never". */
function toTime(text: string): Date {
  const time: unknown = types.getTypeParser(types.builtins.TIMESTAMPTZ)(text);
  if (time instanceof Date) return time;
  throw new Error(`The time ${text} of the database is unreadable.`);
}

/** Texts of at most this length are integers that a number holds exactly. */
const MAX_EXACT_LENGTH = 15;

/** Reads int8 as bigint: a number would round it. For most texts the way by a number takes half of the time. */
const toBigint = (text: string) => BigInt(text.length > MAX_EXACT_LENGTH ? text : Number(text));

const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === types.builtins.INT8) return toBigint;
    return oid === types.builtins.TIMESTAMPTZ ? toTime : types.getTypeParser(oid, format);
  },
};

/** The text that TypeORM sends. */
const COMMIT = 'COMMIT';
const BEGIN_TAG = /^(BEGIN|START TRANSACTION)$/;

/** The message for a response with another transaction status than that of our own statements. */
const POOLER_FAULT =
  'The pooler in front of the database opens transactions of its own, which lose changes: with pgpool-II set backend_clustering_mode to streaming_replication.';

/** Returns TypeORM's options: one pool, a bound for every wait, and no setting that a pooler rejects. */
export function dataSourceOptions(config: DatabaseConfig) {
  const { databasePipelining, databasePoolSize, databasePreparedStatements } = config;
  const isPipelining = databasePipelining && databasePreparedStatements;
  // A third of the connections of a process is pipelined, the pool has the others.
  const pipelined = isPipelining ? Math.min(MAX_PIPELINED, Math.floor(databasePoolSize / 3)) : 0;
  return {
    type: 'postgres',
    // A package manager with strict folders hides the driver from TypeORM.
    driver: { Pool },
    migrationsTableName: 'migrations',
    synchronize: false,
    logging: false,
    installExtensions: false,
    poolSize: databasePoolSize - pipelined,
    extra: {
      Client: BoundedClient,
      connectionString: config.databaseUrl,
      peers: new Peers(),
      // Bounds the wait for a free connection, and the time to open one. After the start it is DATABASE_POOL_WAIT_MS.
      connectionTimeoutMillis: START_WAIT_MS,
      idleTimeoutMillis: 30_000,
      query_timeout: QUERY_TIMEOUT_MS,
    },
  } as const satisfies DataSourceOptions;
}

/** The open connections to one server. */
class Peers {
  readonly connections = new Set<BoundedClient>();
  private renewedAt = -Infinity;

  /**
   * Replaces those that were opened to a read-only server, such as an old primary, when one leads to the new primary.
   *
   * @param askedAt when the server told whether it is read-only: before a renewal it may have changed since
   */
  add(client: BoundedClient, askedAt: number): void {
    this.connections.add(client);
    if (askedAt < this.renewedAt) client.replace(true);
    const readOnly = [...this.connections].filter((each) => each.isReadOnly);
    if (readOnly.length === this.connections.size) return;
    for (const each of readOnly) each.replace(each === client);
  }

  /** Replaces all connections: after a failover, a proxy or a cloud may keep those to the old primary open. */
  renew(): void {
    const now = performance.now();
    if (now - this.renewedAt < RENEWAL_INTERVAL_MS) return;
    this.renewedAt = now;
    for (const each of this.connections) each.replace();
  }
}

type Authentication = { readonly mechanisms?: readonly string[] };

/** The only way to a session. It closes itself when it is unusable, and reports a commit that was a rollback. */
export class BoundedClient extends Client {
  /** True if its server was read-only when it was opened. */
  isReadOnly = false;
  private isReplaced = false;
  private isBusy = false;
  private readonly peers: Peers;
  private readonly failure: unknown;

  constructor({ peers = new Peers(), ...config }: ClientConfig & { readonly peers?: Peers }) {
    const failure = constructionFailure(config);
    const enableChannelBinding = /[?&]channel_binding=require/.test(config.connectionString ?? '');
    const socket = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 };
    super(failure === undefined ? { ...socket, types: TYPES, ...config, enableChannelBinding } : {});
    this.failure = failure;
    this.peers = peers;
    // As libpq does, it gives no password to a server in the middle.
    let isBound = !enableChannelBinding;
    for (const kind of ['SASL', 'CleartextPassword', 'MD5Password', 'Ok'])
      this.connection.prependListener(`authentication${kind}`, ({ mechanisms = [] }: Authentication) => {
        isBound ||= mechanisms.includes('SCRAM-SHA-256-PLUS');
        if (!isBound) this.connection.stream.destroy(new Error('the server has no channel binding'));
      });
    // The pool has no listener during a checkout, and an unhandled `error` event ends the process.
    this.on('error', () => undefined);
    this.on('end', () => peers.connections.delete(this));
    this.follow();
  }

  override connect(): Promise<this>;
  override connect(callback: (error: Error | null) => void): void;
  override connect(callback?: (error: Error | null) => void): Promise<this> | void {
    return callback ? callbackify(() => this.open())(callback) : this.open();
  }

  // It has the overloads of the driver.
  // oxlint-disable-next-line typescript/no-explicit-any
  override query(query: any, values?: any, callback?: any): any {
    this.isBusy = true;
    const result: unknown = super.query(query, values, callback);
    if (!(result instanceof Promise)) return result;
    // Runs before the caller gets the error, and so before the pool gets the connection.
    const bounded = result.catch((error: unknown) => {
      if (isUnusable(error)) void this.end();
      if (connectionFault(error) === 'readOnly' && !this.isReplaced) this.peers.renew();
      throw error;
    });
    return query === COMMIT ? bounded.then(requireCommit) : bounded;
  }

  /** Fails a response with another transaction status than our statements lead to, before the driver returns it. */
  private follow(): void {
    let isBegun: boolean | undefined = false;
    let [hasSavepoint, hasFailed] = [false, false];
    this.connection.on('errorMessage', () => (hasFailed = true));
    this.connection.on('commandComplete', ({ text: tag }: { text: string }) => {
      if (tag === 'SAVEPOINT') hasSavepoint = true;
      if (BEGIN_TAG.test(tag)) isBegun = true;
      // ROLLBACK TO has the same tag: then the status tells.
      else if (tag === COMMIT || tag === 'ROLLBACK')
        isBegun = tag !== COMMIT && hasSavepoint ? undefined : false;
    });
    this.connection.on('readyForQuery', ({ status }: { status: string }) => {
      this.isBusy = false;
      if (this.isReplaced && status === 'I') void this.end();
      // A COMMIT that fails ends its transaction.
      if (hasFailed && status === 'I') isBegun = false;
      hasFailed = false;
      isBegun ??= status !== 'I';
      hasSavepoint &&= isBegun;
      if ((status !== 'I') === isBegun) return;
      this.connection.emit('error', new Error(POOLER_FAULT));
      this.connection.stream.destroy();
    });
  }

  /** Closes the connection; one that is busy, or new, closes after its statement or transaction. */
  replace(isNew = false): void {
    this.isReplaced = true;
    if (isNew || this.isBusy || this.getTransactionStatus() !== 'I') return;
    // The pool does not use an idle connection with an error again.
    this.emit('error', new Error('the connection is replaced'));
    this.connection.stream.destroy();
  }

  private async open(): Promise<this> {
    try {
      if (this.failure !== undefined) throw this.failure;
      await super.connect();
      const askedAt = performance.now();
      const { rows } = await super.query<{ isReadOnly: boolean }>(SET_SESSION).catch((error: unknown) => {
        throw String(error).includes('session_replication_role') ? unfired([null]) : error;
      });
      this.isReadOnly = rows[0]?.isReadOnly === true;
      this.peers.add(this, askedAt);
      return this;
    } catch (error) {
      void this.end();
      throw asUnavailable(error);
    }
  }
}

/** Reads the certificate files, which may be unreadable for a while. The pool expects that only `connect` fails. */
function constructionFailure(config: ClientConfig): unknown {
  try {
    void new Client(config);
    return undefined;
  } catch (error) {
    return error;
  }
}

/**
 * The server reports ROLLBACK, and no error, for the COMMIT of a transaction in which a statement has failed. Any other
 * statement in it would get the same code.
 */
function requireCommit<Result extends QueryResult>(result: Result): Result {
  if (result.command === COMMIT) return result;
  const message =
    'The transaction was rolled back, because a statement in it has failed and its error was ignored.';
  throw Object.assign(new Error(message), { code: '25P02' });
}
