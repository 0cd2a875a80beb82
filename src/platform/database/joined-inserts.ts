import { isDatabaseUnavailable, WAIT_TIMEOUT_MESSAGE } from './database-errors';

/** Most rows of one statement. */
export const MAX_ROWS = 100;
/** Most statements at a time. While they run, later rows wait and are joined. */
const MAX_RUNNING = 2;

interface Waiting<New, Row> {
  readonly row: New;
  /** By performance.now(). */
  readonly since: number;
  readonly resolve: (inserted: Row) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Joins rows that are inserted at the same time into one statement, and so into one commit (docs/decisions/0020).
 *
 * Each row is acknowledged after the commit. If the database rejects a statement, its rows are inserted one by one, so
 * that each row has its own result. If the connection is lost, the outcome of all its rows is unknown. A row that waits
 * for too long is rejected and not sent, so that a frozen database does not collect them.
 */
export class JoinedInserts<New, Row> {
  private waiting: Waiting<New, Row>[] = [];
  private running = 0;
  private isScheduled = false;
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param insert inserts rows with one statement and returns them in the same order
   * @param maxWaitMs longest time of a row before its statement begins
   */
  constructor(
    private readonly insert: (rows: readonly New[]) => Promise<readonly Row[]>,
    private readonly maxWaitMs: number,
  ) {}

  add(row: New): Promise<Row> {
    // The rows of one turn of the event loop are joined.
    if (!this.isScheduled && this.running < MAX_RUNNING) {
      this.isScheduled = true;
      setImmediate(() => {
        this.isScheduled = false;
        this.begin();
        this.limitWait();
      });
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ row, since: performance.now(), resolve, reject });
      if (!this.isScheduled) this.limitWait();
    });
  }

  private begin(): void {
    if (this.running >= MAX_RUNNING || this.waiting.length === 0) return;
    const batch = this.waiting.splice(0, MAX_ROWS);
    this.running += 1;
    void this.run(batch).finally(() => {
      this.running -= 1;
      this.begin();
    });
    this.begin();
  }

  /** Rejects each row at the end of its longest wait. */
  private limitWait(): void {
    const [oldest] = this.waiting;
    if (!oldest || this.timer) return;
    const remainingMs = oldest.since + this.maxWaitMs - performance.now();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const latest = performance.now() - this.maxWaitMs;
      const kept = this.waiting.findIndex(({ since }) => since > latest);
      const expired = this.waiting.splice(0, kept < 0 ? this.waiting.length : kept);
      for (const { reject } of expired) reject(new Error(WAIT_TIMEOUT_MESSAGE));
      this.limitWait();
    }, remainingMs).unref();
  }

  private async run(batch: readonly Waiting<New, Row>[]): Promise<void> {
    try {
      const inserted = await this.insert(batch.map(({ row }) => row));
      for (const [at, { resolve, reject }] of batch.entries()) {
        const row = inserted[at];
        if (row === undefined) reject(new Error('an insertion returned fewer rows than it inserted'));
        else resolve(row);
      }
    } catch (error) {
      if (batch.length > 1 && !isDatabaseUnavailable(error)) await this.runEach(batch);
      else for (const { reject } of batch) reject(error);
    }
  }

  private async runEach(batch: readonly Waiting<New, Row>[]): Promise<void> {
    const end = performance.now() + this.maxWaitMs;
    for (const each of batch) {
      if (performance.now() > end) each.reject(new Error(WAIT_TIMEOUT_MESSAGE));
      else await this.run([each]);
    }
  }
}
