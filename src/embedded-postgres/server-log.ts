import { closeSync, constants, fstatSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import { lookAt } from './folders';

const TAIL_BYTES = 64 * 1024;
const ROTATE_BYTES = 16 * 1024 * 1024;

export interface ServerLog {
  readonly descriptor: number;
  /** The offset in bytes at which this run begins. */
  readonly start: number;
}

/** Opens the log to append to it. Renames a large log to `<name>.1` first. */
export function openLog(file: string): ServerLog {
  if ((lookAt(file)?.size ?? 0) > ROTATE_BYTES) renameSync(file, `${file}.1`);
  // Follows no link: root may open the log in a folder of the server's user.
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const descriptor = openSync(file, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  return { descriptor, start: fstatSync(descriptor).size };
}

/** Returns at most the last 64 KiB of the text written since the log was opened. */
export function readLog({ descriptor, start }: ServerLog): string {
  const end = fstatSync(descriptor).size;
  const from = Math.max(start, end - TAIL_BYTES);
  const buffer = Buffer.alloc(end - from);
  return buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, buffer.length, from));
}

/** Appends the output of a program other than the server. */
export function appendToLog(file: string, text: string): void {
  const { descriptor } = openLog(file);
  writeSync(descriptor, `${text.trim()}\n`);
  closeSync(descriptor);
}
