import type { ClientConfig, QueryConfig } from 'pg';
import { MAX_AGE_MS, PipelinedConnection, type Read } from './pipelined-connection';

const REOPEN_INTERVAL_MS = 1_000;

/** Runs a query on the pool. */
type RunOnPool = (query: QueryConfig, parameters: unknown[]) => Promise<unknown[]>;

/**
 * Sends reads over a few connections without waiting for the results of earlier ones (docs/decisions/0020). The pool
 * runs a read if no connection accepts it, and repeats a read whose connection is lost or stuck.
 */
export class PipelinedReads {
  private readonly connections: (PipelinedConnection | undefined)[];
  /** Also those that have been replaced, until they end: their reads must not hang. */
  private readonly checked = new Set<PipelinedConnection>();
  /** The places in `connections` for which one is being opened. */
  private readonly opening = new Set<number>();
  private timer: NodeJS.Timeout | undefined;
  private openedAt = 0;
  private isClosed = false;
  /** The number of renewals. A connection that one overtakes is not used. */
  private generation = 0;

  constructor(
    private readonly config: ClientConfig,
    count: number,
    private readonly runOnPool: RunOnPool,
  ) {
    this.connections = Array.from({ length: count });
  }

  rows(query: QueryConfig, parameters: unknown[]): Promise<unknown[]> {
    const sentAt = performance.now();
    const connection = this.leastLoaded(sentAt);
    if (!connection) return this.runOnPool(query, parameters);
    this.timer ??= this.startTimer();
    return new Promise((resolve, reject) => connection.send({ query, parameters, sentAt, resolve, reject }));
  }

  /** Replaces the connections: after a failover they may lead to a server that is a standby now. */
  renew(): void {
    this.generation += 1;
    for (const [at, connection] of this.connections.entries()) {
      void connection?.close();
      this.connections[at] = undefined;
    }
  }

  /** Resolves when the reads under way have ended, or have been given up. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.checked].map((connection) => connection.close()));
    clearTimeout(this.timer);
  }

  private leastLoaded(now: number): PipelinedConnection | undefined {
    let best: PipelinedConnection | undefined;
    let least = Infinity;
    let isMissing = false;
    for (const connection of this.connections) {
      if (!connection?.isOpen) isMissing = true;
      else {
        const load = connection.loadAt(now);
        if (load < least) best = connection;
        least = Math.min(least, load);
      }
    }
    if (isMissing) this.openMissing(now);
    return best;
  }

  private openMissing(now: number): void {
    if (this.isClosed || (this.openedAt > 0 && now - this.openedAt < REOPEN_INTERVAL_MS)) return;
    this.openedAt = now;
    for (const [at, connection] of this.connections.entries()) {
      if (!connection?.isOpen && !this.opening.has(at)) void this.open(at);
    }
  }

  private async open(at: number): Promise<void> {
    const connection = new PipelinedConnection(this.config, (read) => this.repeat(read));
    const { generation } = this;
    this.opening.add(at);
    try {
      await connection.open();
    } catch {
      // The pool reports a database that is unavailable.
      return;
    } finally {
      this.opening.delete(at);
    }
    if (this.isClosed || generation !== this.generation) {
      await connection.close();
      return;
    }
    this.connections[at] = connection;
    this.checked.add(connection);
  }

  private repeat({ query, parameters, resolve, reject }: Read): void {
    this.runOnPool(query, parameters).then(resolve, reject);
  }

  private startTimer(): NodeJS.Timeout {
    // After the timer has fired, results that have arrived are read first: the process itself may have been busy.
    return setTimeout(() => setImmediate(() => this.check()), MAX_AGE_MS).unref();
  }

  private check(): void {
    const now = performance.now();
    let isBusy = false;
    for (const connection of this.checked) {
      if (connection.check(now)) isBusy = true;
      else if (!connection.isOpen) this.checked.delete(connection);
    }
    this.timer = isBusy ? this.startTimer() : undefined;
  }
}
