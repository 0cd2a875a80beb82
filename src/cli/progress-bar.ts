const WIDTH = 40;
const WHOLE = 100;

/** Where the bar is drawn: standard error, or what stands for it. */
export type Screen = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

/** A bar on one line of a terminal; where there is none, nothing. */
export class ProgressBar {
  private shownPercent = -1;

  constructor(
    private readonly total: number,
    private readonly screen: Screen = process.stderr,
  ) {}

  /** Draws the bar anew where it has grown by a hundredth. */
  show(done: number): void {
    const percent = Math.floor((done / this.total) * WHOLE);
    if (!this.screen.isTTY || percent === this.shownPercent) return;
    this.shownPercent = percent;
    const filled = Math.floor((percent / WHOLE) * WIDTH);
    const bar = '█'.repeat(filled).padEnd(WIDTH, '░');
    this.screen.write(`\r${bar} ${String(percent).padStart(3)} %  ${done} of ${this.total}`);
  }

  /** Takes the bar away, so that what comes next begins an empty line. */
  clear(): void {
    if (this.shownPercent >= 0) this.screen.write('\r\u001B[2K');
  }
}
