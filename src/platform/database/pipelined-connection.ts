import type { Socket } from 'node:net';
import type { ClientConfig, QueryConfig } from 'pg';
import { BoundedClient, isQueryTimeout } from './bounded-client';
import { failureOf, isConnectionLost } from './database-errors';

/** Most reads on one connection at a time. */
const MAX_IN_FLIGHT = 32;

/** A single SELECT outside of a transaction: it can be repeated. */
export interface Read {
  readonly query: QueryConfig;
  readonly parameters: unknown[];
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The socket of a client, which the types of node-postgres lack. */
interface WithConnection {
  readonly connection: { readonly stream: Socket };
}

/**
 * A connection on which several reads are under way. The server runs them in the order in which they were sent, so a
 * slow one delays those behind it. Its owner calls `check` regularly, and repeats the reads that it gets back.
 */
export class PipelinedConnection {
  private readonly client: BoundedClient & WithConnection;
  /** The reads whose results are awaited, the oldest first. */
  private sent: Read[] = [];
  /** Includes the reads that were given back: the server still runs them. */
  private inFlight = 0;
  private oldestAtCheck: Read | undefined;
  private isCorked = false;
  private isOpen = false;

  /** @param repeat gets each read that this connection cannot finish in time */
  constructor(
    config: ClientConfig,
    private readonly repeat: (read: Read) => void,
  ) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.client = new BoundedClient({ ...config, pipeline: true }) as BoundedClient & WithConnection;
    this.client.once('end', () => {
      this.isOpen = false;
    });
  }

  async open(): Promise<void> {
    await this.client.connect();
    this.isOpen = true;
  }

  /** Resolves when the reads under way have ended. */
  close(): Promise<void> {
    return this.client.end();
  }

  get hasEnded(): boolean {
    return !this.isOpen;
  }

  /** The number of reads under way; Infinity if it accepts no more. */
  get load(): number {
    const isStuck = this.oldestAtCheck !== undefined && this.oldestAtCheck === this.sent[0];
    return !this.isOpen || isStuck || this.inFlight >= MAX_IN_FLIGHT ? Infinity : this.inFlight;
  }

  send(read: Read): void {
    this.cork();
    this.sent.push(read);
    this.inFlight += 1;
    this.client.query(read.query, read.parameters).then(
      ({ rows }) => this.finish(read, () => read.resolve(rows)),
      (error: unknown) =>
        this.finish(read, () =>
          isConnectionLost(error) && !isQueryTimeout(error)
            ? this.repeat(read)
            : read.reject(failureOf(read.query, read.parameters, error)),
        ),
    );
  }

  /** Gives back the reads behind one that was the oldest at the last check, too. */
  check(): boolean {
    const [oldest, ...behind] = this.sent;
    if (oldest && oldest === this.oldestAtCheck) {
      this.sent = [oldest];
      for (const read of behind) this.repeat(read);
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

  private finish(read: Read, settle: () => void): void {
    this.inFlight -= 1;
    const at = this.sent.indexOf(read);
    if (at < 0) return;
    this.sent.splice(at, 1);
    settle();
  }
}
