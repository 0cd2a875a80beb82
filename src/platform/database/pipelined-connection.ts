import type { ClientConfig, QueryConfig, QueryResult } from 'pg';
import { BoundedClient, isQueryTimeout, queryTimeout } from './bounded-client';
import { failureOf, isConnectionLost, isStatementLost } from './database-errors';

/** Most reads on one connection at a time. */
const MAX_IN_FLIGHT = 32;
/** No read is sent behind one that was sent this long ago. */
export const MAX_AGE_MS = 20;

/** A single SELECT outside of a transaction: it can be repeated. */
export interface Read {
  readonly query: QueryConfig;
  readonly parameters: unknown[];
  /** By `performance.now()`. */
  readonly sentAt: number;
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A connection on which several reads are under way. The server runs them in the order in which they were sent, so a
 * slow one delays those behind it. Its owner calls `check` regularly, and repeats the reads that it gets back.
 */
export class PipelinedConnection {
  private readonly client: BoundedClient;
  /** The reads whose results are awaited, the oldest first. */
  private sent: Read[] = [];
  /** Includes the reads that were given back: the server still runs them. */
  private inFlight = 0;
  private oldestAtCheck: Read | undefined;
  private oldestSince = 0;
  private readonly timeoutMs: number;
  private isCorked = false;
  isOpen = false;

  /** @param repeat gets each read that this connection cannot finish in time */
  constructor(
    { query_timeout: timeoutMs = Infinity, ...config }: ClientConfig,
    private readonly repeat: (read: Read) => void,
  ) {
    // The checks replace node-postgres' timer for each query.
    this.timeoutMs = timeoutMs;
    this.client = new BoundedClient({ ...config, pipeline: true });
    this.client.once('end', () => {
      this.isOpen = false;
    });
  }

  async open(): Promise<void> {
    await this.client.connect();
    this.isOpen = true;
  }

  /** Resolves when the reads under way have ended. A frozen server would never confirm the end of the session. */
  close(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      if (this.inFlight === 0) resolve();
      else this.client.once('drain', resolve).once('end', resolve);
    });
    void this.client.end();
    return ended;
  }

  /** Returns the number of reads under way; Infinity if it accepts no more. */
  loadAt(now: number): number {
    const [oldest] = this.sent;
    const isSlow = oldest !== undefined && now - oldest.sentAt > MAX_AGE_MS;
    // A read that was given back may hang, too, and the server still runs it.
    const isBehind = this.inFlight > this.sent.length;
    const isAccepting = this.isOpen && !isSlow && !isBehind && this.inFlight < MAX_IN_FLIGHT;
    return isAccepting ? this.inFlight : Infinity;
  }

  send(read: Read): void {
    this.cork();
    this.sent.push(read);
    this.inFlight += 1;
    const { query, parameters } = read;
    let isCounted = true;
    const callback = (error: Error | undefined, result: QueryResult): void => {
      // node-postgres calls it a second time after a parameter that cannot be sent.
      if (isCounted) this.inFlight -= 1;
      isCounted = false;
      this.finish(read, error, result);
    };
    // A config is possible, too, but its type is missing.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.client.query(query as unknown as string, parameters, callback);
  }

  /** Gives back the reads behind one that was the oldest at the last check, too. Gives up one that takes too long. */
  check(now: number): boolean {
    const [oldest, ...behind] = this.sent;
    if (oldest !== this.oldestAtCheck) this.oldestSince = now;
    else if (oldest) {
      this.sent = [oldest];
      for (const read of behind) this.repeat(read);
      if (now - this.oldestSince > this.timeoutMs) this.giveUp(oldest);
    }
    this.oldestAtCheck = oldest;
    return this.inFlight > 0;
  }

  /** Sends all reads of one turn of the event loop with one system call. */
  private cork(): void {
    if (this.isCorked) return;
    this.isCorked = true;
    const { stream } = this.client.connection;
    stream.cork();
    setImmediate(() => {
      this.isCorked = false;
      stream.uncork();
    });
  }

  private finish(read: Read, error: Error | undefined, result?: QueryResult): void {
    const at = this.sent.indexOf(read);
    // It was given back.
    if (at < 0) return;
    this.sent.splice(at, 1);
    if (!error) read.resolve(result?.rows ?? []);
    else this.fail(read, error);
  }

  private fail(read: Read, error: unknown): void {
    const isLost = isStatementLost(error);
    if (isLost || this.isRejected(read.query)) this.replace();
    if (isLost || (isConnectionLost(error) && !isQueryTimeout(error))) this.repeat(read);
    else read.reject(failureOf(read.query, read.parameters, error));
  }

  /** True if the server has not prepared the statement. PgBouncer would not let it be prepared a second time. */
  private isRejected({ name }: QueryConfig): boolean {
    return name !== undefined && !(name in this.client.connection.parsedStatements);
  }

  private replace(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    void this.close();
  }

  private giveUp(read: Read): void {
    this.finish(read, queryTimeout());
    this.client.cancel();
    this.client.connection.stream.destroy();
  }
}
