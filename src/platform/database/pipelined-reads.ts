import { Client, type ClientConfig, type QueryConfig, type QueryResult } from 'pg';
import { isQueryTimeout } from './bounded-client';
import { failureOf, isConnectionLost, isStatementLost } from './database-errors';

/** Most reads on one connection at a time. */
const MAX_IN_FLIGHT = 32;
/** No read is sent behind one that was sent this long ago. */
const MAX_AGE_MS = 20;
const REOPEN_INTERVAL_MS = 1_000;

interface Connection {
  readonly client: Client;
  /** When each read under way was sent, by performance.now(), the oldest first: results arrive in this order. */
  readonly sent: number[];
  isCorked: boolean;
}

/**
 * Sends single SELECTs over a few connections without waiting for the results of earlier ones (docs/decisions/0020). The
 * pool runs a read if no connection accepts it, and repeats a read whose connection is lost.
 */
export class PipelinedReads {
  private readonly open = new Set<Connection>();
  private opening = 0;
  private openedAt = -Infinity;
  private isClosed = false;

  constructor(
    private readonly config: ClientConfig,
    private readonly count: number,
    private readonly runOnPool: (query: QueryConfig, parameters: unknown[]) => Promise<unknown[]>,
  ) {}

  rows(query: QueryConfig, parameters: unknown[]): Promise<unknown[]> {
    const now = performance.now();
    if (this.open.size < this.count) this.openMissing(now);
    const connection = this.leastLoaded(now);
    if (!connection) return this.runOnPool(query, parameters);
    cork(connection);
    connection.sent.push(now);
    return new Promise((resolve, reject) => {
      const settle = (error: Error | undefined, result: QueryResult): void => {
        connection.sent.shift();
        if (!error) resolve(result.rows);
        else if (this.isRepeatable(connection, error)) resolve(this.runOnPool(query, parameters));
        else reject(failureOf(query, parameters, error));
      };
      // With a callback node-postgres makes no promises of its own. It takes a config, too, but its type is missing.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      connection.client.query(query as unknown as string, parameters, settle);
    });
  }

  /** Replaces the connections: after a failover they may lead to a server that is a standby now. */
  renew(): void {
    for (const connection of this.open) this.close(connection);
  }

  /** Opens no further connection. Those that are open end after their last read. */
  end(): void {
    this.isClosed = true;
    this.renew();
  }

  private leastLoaded(now: number): Connection | undefined {
    let best: Connection | undefined;
    for (const each of this.open) {
      const { sent } = each;
      if (sent.length < (best?.sent.length ?? MAX_IN_FLIGHT) && now - (sent[0] ?? now) <= MAX_AGE_MS)
        best = each;
    }
    return best;
  }

  private openMissing(now: number): void {
    if (this.isClosed || now - this.openedAt < REOPEN_INTERVAL_MS) return;
    this.openedAt = now;
    while (this.open.size + this.opening < this.count) void this.openOne();
  }

  private async openOne(): Promise<void> {
    const client = new Client({ ...this.config, pipeline: true });
    const connection = { client, sent: [], isCorked: false };
    client.on('error', () => undefined).once('end', () => this.open.delete(connection));
    this.opening += 1;
    try {
      await client.connect();
      this.open.add(connection);
      if (this.isClosed) this.close(connection);
    } catch {
      // The pool reports a database that is unavailable.
    } finally {
      this.opening -= 1;
    }
  }

  private isRepeatable(connection: Connection, error: Error): boolean {
    const isLost = isStatementLost(error);
    if (isLost) this.close(connection);
    return isLost || (isConnectionLost(error) && !isQueryTimeout(error));
  }

  private close(connection: Connection): void {
    this.open.delete(connection);
    void connection.client.end();
  }
}

/** Sends all reads of one turn of the event loop with one system call. */
function cork(connection: Connection): void {
  if (connection.isCorked) return;
  connection.isCorked = true;
  const { stream } = connection.client.connection;
  stream.cork();
  setImmediate(() => {
    connection.isCorked = false;
    stream.uncork();
  });
}
