import { constants, openSync } from 'node:fs';
import { prettyFactory } from 'pino-pretty';
import { escapeControls } from './controls';
import { LogDestination } from './log-destination';

/** Standard output: JSON lines, or readable ones on a terminal. */
export function openStandardOutput(): LogDestination {
  const { fd, isTTY } = process.stdout;
  return isTTY
    ? openTerminal(fd)
    : new LogDestination(fd, (sentence) => process.stderr.write(`${sentence}\n`));
}

/** Standard error is most often the same terminal, where a report would block the process: there is none. */
function openTerminal(fd: number): LogDestination {
  return new LogDestination(withoutBlocking(fd), () => undefined, createReadableFormat());
}

/** Makes text for a person from a line; what the line escapes is escaped in the text too. */
export function createReadableFormat(): (line: string) => string {
  const prettify = prettyFactory({});
  return (line) => escapeControls(prettify(line));
}

/** Opens the terminal anew: a write to a stalled one would block a thread, and the exit waits for threads. */
function withoutBlocking(fd: number): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync('/dev/stdout', O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // After `su` the terminal belongs to another user.
    return fd;
  }
}
