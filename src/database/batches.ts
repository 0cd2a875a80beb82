import { isDatabaseUnavailable, waitTimeout } from './database-errors';

/** Most items of one batch. The event loop handles all of their requests in one turn, and other requests wait for it. */
const MAX_ITEMS = 100;

interface Waiting<Item, Result> {
  readonly item: Item;
  /** By performance.now(). */
  readonly since: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

interface Bounds {
  /** Batches at a time. */
  readonly maxRunning: number;
  /** Longest wait of an item before it is run; then it is 503. */
  readonly maxWaitMs: number;
  /** A batch that takes longer no longer counts as running. Default: each counts. */
  readonly slowMs?: number;
}

/**
 * Runs items that arrive at the same time with one statement (decisions 15 and 20).
 *
 * If the database rejects a batch, its items run one by one, so that each has its own result. If the connection is lost,
 * all of its items fail. An item that waits for too long is rejected and not run: a frozen database collects none.
 */
export class Batches<Item, Result> {
  private readonly waiting: Waiting<Item, Result>[] = [];
  private running = 0;
  private isScheduled = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param run returns the results in the order of the items */
  constructor(
    private readonly run: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly bounds: Bounds,
  ) {}

  add(item: Item): Promise<Result> {
    // The items of one turn of the event loop are joined.
    if (!this.isScheduled) setImmediate(() => this.begin());
    this.isScheduled = true;
    this.timer ??= this.limitWait(this.bounds.maxWaitMs);
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, since: performance.now(), resolve, reject });
    });
  }

  private begin(): void {
    this.isScheduled = false;
    while (this.running < this.bounds.maxRunning && this.waiting.length > 0) {
      const { slowMs } = this.bounds;
      let isRunning = true;
      const end = (): void => {
        clearTimeout(timer);
        if (isRunning) this.running -= 1;
        isRunning = false;
        this.begin();
      };
      const timer = slowMs === undefined ? undefined : setTimeout(end, slowMs);
      this.running += 1;
      void this.settle(this.waiting.splice(0, MAX_ITEMS)).finally(end);
    }
  }

  private async settle(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.run(batch.map(({ item }) => item));
      for (const [at, { resolve, reject }] of batch.entries()) {
        const result = results[at];
        if (result === undefined) reject(new Error('a batch returned fewer results than it has items'));
        else resolve(result);
      }
    } catch (error) {
      if (batch.length === 1 || isDatabaseUnavailable(error)) for (const { reject } of batch) reject(error);
      else
        for (const each of batch)
          await (this.isLate(each) ? each.reject(waitTimeout()) : this.settle([each]));
    }
  }

  private limitWait(inMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const { waiting } = this;
      while (waiting[0] && this.isLate(waiting[0])) waiting.shift()?.reject(waitTimeout());
      const [oldest] = waiting;
      this.timer = oldest && this.limitWait(oldest.since + this.bounds.maxWaitMs - performance.now());
    }, inMs).unref();
  }

  private isLate({ since }: Waiting<Item, Result>): boolean {
    return performance.now() - since >= this.bounds.maxWaitMs;
  }
}
