import { constants, openSync } from 'node:fs';
import { prettyFactory } from 'pino-pretty';
import { escapeControls } from './controls';
import { LogDestination } from './log-destination';

/** Opens standard output: for JSON lines, or for readable text on a terminal. */
export function openStandardOutput(): LogDestination {
  const { fd, isTTY } = process.stdout;
  return isTTY
    ? openTerminal(fd)
    : new LogDestination(fd, (sentence) => process.stderr.write(`${sentence}\n`));
}

/** Reports nothing: standard error is usually the same terminal, and a report would block the process. */
function openTerminal(fd: number): LogDestination {
  return new LogDestination(reopenWithoutBlocking(fd), () => undefined, createReadableFormat());
}

/** Turns a log line into readable text; control characters stay escaped. */
export function createReadableFormat(): (line: string) => string {
  const prettify = prettyFactory({});
  return (line) => escapeControls(prettify(line));
}

/** Reopens the terminal without blocking: a write to a stalled one blocks a thread, and the exit waits for threads. */
function reopenWithoutBlocking(fd: number): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync('/dev/stdout', O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // After `su` the terminal belongs to another user.
    return fd;
  }
}
