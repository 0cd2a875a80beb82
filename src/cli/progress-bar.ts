const WIDTH = 40;
const MAX_PERCENT = 100;

/** The stream that shows the bar: standard error, or its replacement in a test. */
export type Screen = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

/** A progress bar on one line of a terminal; writes nothing to other streams. */
export class ProgressBar {
  private shownPercent = -1;

  constructor(
    private readonly total: number,
    private readonly screen: Screen = process.stderr,
  ) {}

  /** Draws the bar again if it has grown by at least 1 %. */
  show(done: number): void {
    const percent = Math.floor((done / this.total) * MAX_PERCENT);
    if (!this.screen.isTTY || percent === this.shownPercent) return;
    this.shownPercent = percent;
    const filled = Math.floor((percent / MAX_PERCENT) * WIDTH);
    const bar = '█'.repeat(filled).padEnd(WIDTH, '░');
    this.screen.write(`\r${bar} ${String(percent).padStart(3)} %  ${done} of ${this.total}`);
  }

  /** Removes the bar, so that the next output begins on an empty line. */
  clear(): void {
    if (this.shownPercent >= 0) this.screen.write('\r\u001B[2K');
  }
}
