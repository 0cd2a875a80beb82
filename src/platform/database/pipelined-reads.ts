import type { ClientConfig, QueryConfig, QueryResult } from 'pg';
import { BoundedClient, IDLE_CONNECTION_TIMEOUT_MS } from './data-source';
import { failureOf, isConnectionLost, isQueryTimeout, isUnusable } from './database-errors';

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
export class PipelinedReads {
  private readonly connections = new Set<Connection>();
  private openedAt = -Infinity;

  constructor(
    private readonly config: ClientConfig,
    private count: number,
    private readonly runOnPool: (query: QueryConfig, parameters: unknown[]) => Promise<unknown[]>,
  ) {}

  rows(query: QueryConfig, parameters: unknown[]): Promise<unknown[]> {
    const now = performance.now();
    if (this.connections.size < this.count) this.openMissing(now);
    const connection = this.leastLoaded(now);
    if (!connection) return this.runOnPool(query, parameters);
    cork(connection);
    connection.sent.push(now);
    connection.idle.refresh();
    return new Promise((resolve, reject) => {
      const settle = (error: Error | undefined, result: QueryResult): void => {
        connection.sent.shift();
        if (!error) return resolve(result.rows);
        if (isUnusable(error)) this.close(connection);
        const isLate = isQueryTimeout(error);
        const isRepeatable = isLate ? connection.isStuck : isUnusable(error) || isConnectionLost(error);
        connection.isStuck ||= isLate;
        if (isRepeatable) resolve(this.runOnPool(query, parameters));
        else reject(failureOf(query, parameters, error));
      };
      // With a callback node-postgres makes no promises of its own. It takes a config, too, but its type is missing.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      connection.client.query(query as unknown as string, parameters, settle);
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
    const client = new BoundedClient({ ...this.config, pipeline: true });
    const idle = setTimeout(() => this.close(connection), IDLE_CONNECTION_TIMEOUT_MS).unref();
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

/** Sends all reads of one turn of the event loop with one system call. */
function cork({ client }: Connection): void {
  const { stream } = client.connection;
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}
