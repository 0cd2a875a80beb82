/** A running query, and the next one that later requests wait for. */
interface Reading<T> {
  readonly result: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Longest wait for a running query; then the next one begins concurrently. No statement takes longer than six of
 * these, so one page uses at most six connections of the pool, even if the database is slow.
 */
const MAX_WAIT_MS = 1_000;

/**
 * Lets concurrent requests for the same data share one query (decision 13).
 *
 * A request does not share the running query, which may have missed earlier writes, but the next one. So every response
 * reflects the database at or after the time the request arrived. At most one query runs at a time, unless one is slow.
 * A failure rejects every request that shares the query.
 */
export class CoalescedRead<T> {
  /**
   * The running queries by name. Not a Map: V8 links each outgrown table of a Map to the next, so one old table keeps
   * all later results from minor collections (measured: a fifth of the throughput of mixed pages).
   */
  private readonly readings: Record<string, Reading<T> | undefined> = Object.create(null);

  /**
   * @param name identifies the query: two queries of one name are the same
   * @param query starts the query when called
   */
  read(name: string, query: () => Promise<T>): Promise<T> {
    const running = this.readings[name];
    if (!running) return this.begin(name, query);
    running.next ??= new Promise((resolve) => {
      let hasBegun = false;
      const begin = (): void => {
        clearTimeout(timer);
        if (!hasBegun) resolve(this.begin(name, query));
        hasBegun = true;
      };
      const timer = setTimeout(begin, MAX_WAIT_MS);
      running.result.then(begin, begin);
    });
    return running.next;
  }

  private begin(name: string, query: () => Promise<T>): Promise<T> {
    const result = new Promise<T>((resolve) => resolve(query()));
    const reading: Reading<T> = { result, next: undefined };
    this.readings[name] = reading;
    const end = (): void => {
      if (this.readings[name] === reading) delete this.readings[name];
    };
    result.then(end, end);
    return result;
  }
}
