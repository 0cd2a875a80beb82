import { SonicBoom } from 'sonic-boom';

/** Bytes of lines that wait while nothing can be written, some 18,000 lines; further ones are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 1_000;
/** For a pipe that is full: a reader that works needs no longer. */
const BUSY_RETRY_MS = 20;
/** A shorter failure that costs no line is not reported. */
const RETRIES_BEFORE_REPORT = 5;
const FLUSH_LIMIT_MS = 1_000;

/**
 * Writes lines to a file descriptor, asynchronously and in order. While that fails, or the reader stalls, lines wait
 * up to a bound and are dropped beyond it; a reader that has gone is a failure like any other.
 *
 * Not `pino.destination`: its exit hook repeats a failing write forever, and blocks the process.
 */
export class LogDestination {
  private readonly stream: SonicBoom;
  private dropped = 0;
  private failure: NodeJS.ErrnoException | undefined;
  private retry: NodeJS.Timeout | undefined;
  private retries = 0;
  /** What `dropped` was when the current failure was reported. */
  private droppedBefore: number | undefined;

  /**
   * @param report takes a sentence when lines cannot be written, and one when they can again
   * @param format makes the text that is written from a line
   */
  constructor(
    fd: number,
    private readonly report: (sentence: string) => void,
    private readonly format: (line: string) => string = (line) => line,
  ) {
    this.stream = new SonicBoom({
      fd,
      maxLength: MAX_WAITING_BYTES,
      // With 0, its default, `flush` does nothing. It is our retry.
      minLength: 1,
      // Its own retry leaves a reader 64 KiB in 100 ms.
      retryEAGAIN: () => false,
    });
    this.stream.on('error', (error: NodeJS.ErrnoException) => this.handleError(error));
    this.stream.on('drop', () => this.handleDrop());
    this.stream.on('drain', () => this.handleDrain());
  }

  /** Lines that were dropped since the start. */
  get droppedLines(): number {
    return this.dropped;
  }

  write(line: string): void {
    this.stream.write(this.format(line));
  }

  /** Resolves when everything is written or that has failed; at the latest after a second. */
  flush(): Promise<void> {
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
   * Writes text for a person, past the format of the log.
   *
   * @returns false if the reader has gone
   * @throws OutputError if the text cannot be written for another reason
   */
  async print(text: string): Promise<boolean> {
    this.stream.write(text);
    await this.flush();
    if (this.failure === undefined) return true;
    if (this.failure.code === 'EPIPE') return false;
    throw new OutputError(`Standard output cannot be written (${this.failure.message}). ${REMEDY}.`);
  }

  /** The stream keeps what it could not write, and begins with it again where it stopped. */
  private handleError(error: NodeJS.ErrnoException): void {
    if (!isBusy(error)) this.failure = error;
    this.retryAfter(isBusy(error) ? BUSY_RETRY_MS : RETRY_MS);
  }

  private handleDrop(): void {
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

/** Standard output cannot be written; the message is for a person. */
export class OutputError extends Error {}

const REMEDY = 'Free space on its disk, or restart its reader';

/** True if a pipe or a terminal takes no more for the moment. */
function isBusy({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY';
}
