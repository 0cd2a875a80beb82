import { SonicBoom } from 'sonic-boom';
import { UserError } from '../errors/user-error';

/** Bytes of lines that wait while writing fails, about 18,000 lines. Further lines are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 1_000;
/** Retry interval for a full pipe: a working reader needs less. */
const BUSY_RETRY_MS = 20;
/** A shorter failure without a dropped line is not reported. */
const RETRIES_BEFORE_REPORT = 5;
const FLUSH_LIMIT_MS = 1_000;
/** Characters of lines that are written together. */
const MAX_JOINED = 16_384;

/**
 * Writes lines to a file descriptor, asynchronously and in order. While writing fails or the reader stalls, lines wait
 * up to MAX_WAITING_BYTES; further ones are dropped. A closed pipe is such a failure.
 *
 * `pino.destination` cannot be used: its exit hook repeats a failing write forever and blocks the process.
 */
export class LogDestination {
  private readonly stream: SonicBoom;
  /** The lines of this turn of the event loop: each write costs about as much as ten lines. */
  private joined = '';
  private dropped = 0;
  private failure: NodeJS.ErrnoException | undefined;
  private retry: NodeJS.Timeout | undefined;
  private retries = 0;
  /** The value of `dropped` when the current failure was reported. */
  private droppedBefore: number | undefined;

  /**
   * @param report receives one sentence when writing fails, and one when it works again
   * @param format turns a line into the text to write
   */
  constructor(
    fd: number,
    private readonly report: (sentence: string) => void,
    private readonly format: (line: string) => string = (line) => line,
  ) {
    this.stream = new SonicBoom({
      fd,
      maxLength: MAX_WAITING_BYTES,
      // With the default 0 `flush`, which we use to retry, does nothing.
      minLength: 1,
      // SonicBoom's own retry writes at most 64 KiB in 100 ms.
      retryEAGAIN: () => false,
    });
    this.stream.on('error', (error: NodeJS.ErrnoException) => this.handleError(error));
    this.stream.on('drop', (text: string) => this.handleDrop(text));
    this.stream.on('drain', () => this.handleDrain());
  }

  /** Lines dropped since the start. */
  get droppedLines(): number {
    return this.dropped;
  }

  write(line: string): void {
    if (this.joined === '') setImmediate(() => this.writeJoined());
    this.joined += this.format(line);
    if (this.joined.length > MAX_JOINED) this.writeJoined();
  }

  /** Resolves when everything is written or writing has failed, at most after FLUSH_LIMIT_MS. */
  flush(): Promise<void> {
    this.writeJoined();
    return new Promise((resolve) => {
      const { stream } = this;
      const finish = (): void => {
        clearTimeout(limit);
        stream.off('drain', finish).off('error', finishIfFailed);
        resolve();
      };
      const finishIfFailed = (error: NodeJS.ErrnoException): void => {
        if (!isBusy(error)) finish();
      };
      const limit = setTimeout(finish, FLUSH_LIMIT_MS);
      stream.on('drain', finish).on('error', finishIfFailed);
      stream.flush();
    });
  }

  /**
   * Writes text for a person, without the format of the log.
   *
   * @returns false if the pipe has no reader
   * @throws UserError if the text cannot be written for another reason
   */
  async print(text: string): Promise<boolean> {
    this.joined += text;
    await this.flush();
    if (this.failure === undefined) return true;
    if (this.failure.code === 'EPIPE') return false;
    throw new UserError(`Standard output cannot be written (${this.failure.message}). ${REMEDY}.`);
  }

  private writeJoined(): void {
    const text = this.joined;
    this.joined = '';
    if (text !== '') this.stream.write(text);
  }

  /** Schedules a retry. The stream keeps the unwritten text and continues at the same byte. */
  private handleError(error: NodeJS.ErrnoException): void {
    if (!isBusy(error)) this.failure = error;
    this.retryAfter(isBusy(error) ? BUSY_RETRY_MS : RETRY_MS);
  }

  /** Drops single lines only: some of the lines that were joined may still fit. */
  private handleDrop(text: string): void {
    const lines = text.split(/(?<=\n)/);
    if (lines.length > 1) return lines.forEach((line) => this.stream.write(line));
    this.reportBegin();
    this.dropped += 1;
    this.retryAfter(RETRY_MS);
  }

  private handleDrain(): void {
    this.failure = undefined;
    this.retries = 0;
    if (this.droppedBefore === undefined) return;
    this.report(`The log can be written again. Lines dropped: ${this.dropped - this.droppedBefore}.`);
    this.droppedBefore = undefined;
  }

  private retryAfter(milliseconds: number): void {
    this.retry ??= setTimeout(() => {
      this.retry = undefined;
      if (this.failure) this.retries += 1;
      if (this.retries === RETRIES_BEFORE_REPORT) this.reportBegin();
      this.stream.flush();
    }, milliseconds).unref();
  }

  private reportBegin(): void {
    if (this.droppedBefore !== undefined) return;
    this.droppedBefore = this.dropped;
    const cause = this.failure?.message ?? 'its reader has stalled';
    const kept = `${MAX_WAITING_BYTES / 1024 / 1024} MiB`;
    this.report(`The log cannot be written (${cause}): lines beyond ${kept} are dropped. ${REMEDY}.`);
  }
}

const REMEDY = 'Free space on its disk, or restart its reader';

/** Returns true if the pipe or the terminal is full for the moment. */
function isBusy({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY';
}
