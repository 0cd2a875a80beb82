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
  /** Longest time in which a batch keeps the next one waiting. Default: until it ends. */
  readonly maxBlockMs?: number;
}

/**
 * Runs items that arrive at the same time with one statement (decisions 15 and 20).
 *
 * If the database rejects a batch, its items run one by one, so that each has its own result. If the connection is lost,
 * all of its items fail. An item that waits for too long is rejected and not run: a frozen database collects none.
 */
export class Batches<Item, Result> {
  private readonly waiting: Waiting<Item, Result>[] = [];
  private readonly running = new Set<object>();
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
    const { maxRunning, maxBlockMs } = this.bounds;
    while (this.running.size < maxRunning && this.waiting.length > 0) {
      const batch = this.waiting.splice(0, MAX_ITEMS);
      const end = (): void => {
        this.running.delete(batch);
        this.begin();
      };
      this.running.add(batch);
      if (maxBlockMs !== undefined) setTimeout(end, maxBlockMs).unref();
      void this.settle(batch).finally(end);
    }
  }

  private async settle(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.run(batch.map(({ item }) => item));
      for (const [at, result] of results.entries()) batch[at]?.resolve(result);
      for (const { reject } of batch.slice(results.length))
        reject(new Error('a batch returned fewer results than it has items'));
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
