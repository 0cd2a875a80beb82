/** Bounds concurrent work. Those that wait run in their order. */
export class Semaphore {
  private readonly waiting: (() => void)[] = [];

  /** @param free the most that run at the same time */
  constructor(private free: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free += 1;
    }
  }
}
