/** A query that runs, and the one that those who came meanwhile wait for. */
interface Reading<T> {
  readonly result: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * A query that takes longer holds up nobody else: the next one begins beside it. No statement takes longer than six of
 * these, so one page cannot take all connections of a pool, however slow the database is.
 */
const LONGEST_WAIT_MS = 1_000;

/**
 * Lets requests that want the same share one query: not the one that runs, which may have missed what was written
 * before they came, but the next. So nobody gets a state older than the own request, and however many ask, one query
 * runs at a time, unless one is slow. A failure is that of all who share it.
 */
export class SharedRead<T> {
  /**
   * By name. No Map: in V8 its outgrown tables stay linked to their successors, so that a single one which has grown old
   * keeps all results since from the quick collections (measured: a fifth of the throughput of mixed pages).
   */
  private readonly readings: Record<string, Reading<T> | undefined> = Object.create(null);

  /**
   * @param name what is wanted: the same name, the same query
   * @param query begins to read when it is called
   */
  read(name: string, query: () => Promise<T>): Promise<T> {
    const running = this.readings[name];
    if (!running) return this.begin(name, query);
    running.next ??= this.follow(running, name, query);
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

  private follow({ result }: Reading<T>, name: string, query: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      let hasBegun = false;
      const begin = (): void => {
        clearTimeout(patience);
        if (hasBegun) return;
        hasBegun = true;
        resolve(this.begin(name, query));
      };
      const patience = setTimeout(begin, LONGEST_WAIT_MS);
      result.then(begin, begin);
    });
  }
}
