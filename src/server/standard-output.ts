import { setTimeout as sleep } from 'node:timers/promises';
import { prettyFactory } from 'pino-pretty';
import { SonicBoom } from 'sonic-boom';
import { UserError } from '../platform/errors/user-error';
import { escapeControls } from '../platform/logging/logger';

/** Bytes of lines that wait while the reader stalls or writing fails, about 18,000 lines. Further ones are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 1_000;
const FLUSH_LIMIT_MS = 1_000;

/**
 * Writes lines asynchronously and in order. SonicBoom joins the lines that arrive during a write, keeps the text that
 * cannot be written, and continues at the same byte.
 *
 * `pino.destination` cannot be used: its exit hook repeats a failing write forever and blocks the process.
 */
export class StandardOutput {
  /** Lines dropped since the start. */
  droppedLines = 0;
  private readonly stream: SonicBoom;
  private failure: NodeJS.ErrnoException | undefined;

  constructor(
    fd: number = process.stdout.fd,
    private readonly format = process.stdout.isTTY ? readable : (line: string) => line,
  ) {
    // With a `minLength` of 0, `flush` and with it `periodicFlush`, which retries, do nothing.
    const options = { minLength: 1, maxLength: MAX_WAITING_BYTES, periodicFlush: RETRY_MS };
    this.stream = new SonicBoom({ fd, ...options })
      .on('error', (error: NodeJS.ErrnoException) => (this.failure = error))
      .on('drain', () => (this.failure = undefined))
      .on('drop', () => (this.droppedLines += 1));
  }

  write(line: string): void {
    this.stream.write(this.format(line));
  }

  /** Resolves when everything is written or writing has failed, at most after FLUSH_LIMIT_MS. */
  async flush(): Promise<void> {
    const written = new Promise((resolve) => this.stream.flush(resolve));
    await Promise.race([written, sleep(FLUSH_LIMIT_MS, undefined, { ref: false })]);
  }

  /**
   * Writes text for a person, without the format of the log.
   *
   * @returns false if the pipe has no reader
   * @throws UserError if the text cannot be written for another reason
   */
  async print(text: string): Promise<boolean> {
    this.stream.write(text);
    await this.flush();
    if (this.failure === undefined) return true;
    if (this.failure.code === 'EPIPE') return false;
    throw new UserError(
      `Standard output cannot be written (${this.failure.message}). Free space on its disk, or restart its reader.`,
    );
  }
}

const prettify = prettyFactory({ singleLine: true });

/** Turns a JSON line into one readable line, for a terminal; control characters stay escaped. */
export function readable(line: string): string {
  return escapeControls(prettify(line));
}
