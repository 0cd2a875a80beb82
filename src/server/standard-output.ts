import { constants, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { prettyFactory } from 'pino-pretty';
import { SonicBoom } from 'sonic-boom';
import { UserError } from '../platform/errors/user-error';
import { escapeControls } from '../platform/logging/logger';

/** Bytes of lines that wait while the reader stalls or writing fails, about 18,000 lines. Further ones are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 1_000;
/** Lines of this time are one write: it costs about as much as ten lines. */
const COLLECT_MS = 10;
const FLUSH_LIMIT_MS = 1_000;

/**
 * Writes lines asynchronously and in order. SonicBoom keeps the text that cannot be written, and continues at the same
 * byte.
 *
 * `pino.destination` cannot be used: its exit hook repeats a failing write forever and blocks the process.
 */
export class StandardOutput {
  /** Lines dropped since the start. */
  droppedLines = 0;
  private readonly stream: SonicBoom;
  /** The lines that the next write contains. */
  private lines = '';
  private failure: NodeJS.ErrnoException | undefined;

  constructor(
    fd: number = process.stdout.isTTY ? openTerminal() : process.stdout.fd,
    private readonly format = process.stdout.isTTY ? readable : (line: string) => line,
  ) {
    // With a `minLength` of 0, `flush` and with it `periodicFlush`, which retries, do nothing.
    const options = { minLength: 1, maxLength: MAX_WAITING_BYTES, periodicFlush: RETRY_MS };
    this.stream = new SonicBoom({ fd, ...options })
      .on('error', (error: NodeJS.ErrnoException) => (this.failure = error))
      .on('drain', () => (this.failure = undefined))
      .on('drop', (text: string) => (this.droppedLines += text.split('\n').length - 1));
  }

  write(line: string): void {
    if (this.lines === '') setTimeout(() => this.writeLines(), COLLECT_MS);
    this.lines += this.format(line);
  }

  /** Resolves when everything is written or writing has failed, at most after FLUSH_LIMIT_MS. */
  async flush(): Promise<void> {
    this.writeLines();
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
    this.lines += text;
    await this.flush();
    if (this.failure === undefined) return true;
    if (this.failure.code === 'EPIPE') return false;
    throw new UserError(
      `Standard output cannot be written (${this.failure.message}). Free space on its disk, or restart its reader.`,
    );
  }

  private writeLines(): void {
    if (this.lines !== '') this.stream.write(this.lines);
    this.lines = '';
  }
}

/** Opens the terminal without blocking: a write to a stalled one blocks a thread, and the exit waits for threads. */
function openTerminal(): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync('/dev/stdout', O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // After `su` the terminal belongs to another user.
    return process.stdout.fd;
  }
}

const prettify = prettyFactory({ singleLine: true });

/** Turns a JSON line into one readable line, for a terminal; control characters stay escaped. */
export function readable(line: string): string {
  return escapeControls(prettify(line));
}
