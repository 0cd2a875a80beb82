import { constants, fstatSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SonicBoom } from 'sonic-boom';

/** About 18,000 lines that wait while the reader stalls or writing fails. Further ones are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 1_000;
/** Lines of this time, up to this length, are one write: it costs about as much as ten lines. */
const COLLECT_MS = 10;
const MAX_WRITE_LENGTH = 16_384;
const FLUSH_LIMIT_MS = 1_000;

/** Loads what only a terminal needs. */
function createPrettifier() {
  const { prettyFactory }: typeof import('pino-pretty') = require('pino-pretty');
  return prettyFactory({ singleLine: true, translateTime: 'SYS:HH:MM:ss', ignore: 'context,reqId,route' });
}

/**
 * Writes lines asynchronously and in order. SonicBoom joins lines, keeps those that cannot be written, and continues at
 * the same byte. The exit hook of `pino.destination` would repeat a failing write forever.
 */
export class StandardOutput {
  droppedLines = 0;
  private readonly stream: SonicBoom;
  /** The lines that the next write contains. */
  private lines = '';
  private readonly prettify = process.stdout.isTTY ? createPrettifier() : undefined;

  constructor(fd = descriptorOf(process.stdout)) {
    // With a `minLength` of 0, `flush` and with it `periodicFlush`, which retries, do nothing.
    this.stream = new SonicBoom({ fd, minLength: 1, maxLength: MAX_WAITING_BYTES, periodicFlush: RETRY_MS })
      // It keeps what it could not write.
      .on('error', () => undefined)
      .on('drop', (text: string) => (this.droppedLines += text.split('\n').length - 1));
  }

  /** @param lines of the log, or a text for a person */
  write(lines: string): void {
    if (this.lines === '') setTimeout(() => this.writeLines(), COLLECT_MS);
    const { prettify } = this;
    this.lines += prettify ? lines.replaceAll(/(.+)\n?/g, (_, line: string) => prettify(line) ?? '') : lines;
    if (this.lines.length > MAX_WRITE_LENGTH) this.writeLines();
  }

  /** Resolves when everything is written or writing has failed. */
  async flush(): Promise<void> {
    this.writeLines();
    const written = new Promise((resolve) => this.stream.flush(resolve));
    await Promise.race([written, sleep(FLUSH_LIMIT_MS, undefined, { ref: false })]);
  }

  private writeLines(): void {
    if (this.lines !== '') this.stream.write(this.lines);
    this.lines = '';
  }
}

/**
 * Opens a terminal or a pipe again: a write that waits, such as for Ctrl-Q, would keep the process from exiting. Processes
 * that share a descriptor, such as workers (`2>&1`), make it wait.
 */
function descriptorOf({ fd, isTTY }: { readonly fd: number; readonly isTTY: boolean }): number {
  try {
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return isTTY || fstatSync(fd).isFIFO() ? openSync(`/dev/fd/${fd}`, flags) : fd;
  } catch {
    // It is closed, or of another user.
    return fd;
  }
}
