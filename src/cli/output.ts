import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { Command, type Option } from 'commander';
import { stringify } from 'lossless-json';
import { UserError } from '../config/user-error';

type Cell = string | number | Date | null;

/** The result of a command: for programs, and for a person. */
interface Output {
  readonly json: unknown;
  readonly text: string;
  /** Why the command fails nevertheless, for status 1. */
  readonly failure?: string;
}

/** A command whose action returns what it prints. */
export class OutputCommand extends Command {
  override createCommand(name?: string): OutputCommand {
    return new OutputCommand(name);
  }

  addOptions(options: readonly Option[]): this {
    for (const option of options) this.addOption(option);
    return this;
  }

  /** Adds `--json`, and an action whose result is printed. */
  prints(action: (...args: Parameters<Parameters<Command['action']>[0]>) => Promise<Output>): void {
    this.option('--json', 'print one JSON document').action(async (...args) => {
      const { json, text, failure } = await action(...args);
      const shown = this.getOptionValue('json') === true ? (stringify(json) ?? '') : text;
      process.stdout.write(`${printable(shown)}\n`);
      if (failure !== undefined) throw new UserError(failure);
    });
  }

  /** Adds `--yes`, without which the command asks on a terminal and is wrong usage elsewhere. */
  destroys(question: string): this {
    return this.option('--yes', 'do not ask').hook('preAction', async () => {
      if (this.getOptionValue('yes') === true) return;
      if (!process.stdin.isTTY) this.error(`error: ${question} There is no terminal to ask on: add --yes.`);
      process.stderr.write(`${question} Continue? [y/N] `);
      const lines = createInterface({ input: process.stdin });
      const reply = await lines[Symbol.asyncIterator]().next();
      lines.close();
      if (!/^y(es)?$/i.test(String(reply.value).trim())) throw new UserError('Nothing was changed.');
    });
  }
}

/** Ends the process if standard output cannot be written: with status 0 if its reader has stopped, as `head` does. */
export function watchOutput(): void {
  const { stdout, stderr } = process;
  if (stdout.listenerCount('error') > 0) return;
  // An error of standard error cannot be reported anywhere.
  stderr.on('error', () => undefined);
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    stderr.write(
      `Standard output cannot be written (${error.message}). Free space on its disk, or restart its reader.\n`,
    );
    process.exit(1);
  });
  const isFile = !((stdout as Writable) instanceof Socket);
  // oxlint-disable-next-line no-underscore-dangle
  if (isFile) stdout._write = writeWhole;
}

/** Writes to a file. Node's own function ignores that a disk that becomes full takes only a part. */
const writeWhole: Writable['_write'] = (chunk: Buffer, _encoding, done) => {
  try {
    writeFileSync(process.stdout.fd, chunk);
    done();
  } catch (error) {
    done(error instanceof Error ? error : undefined);
  }
};

/** Escapes what could change how a terminal shows the text around it. In JSON the escape has the same meaning. */
export function printable(text: string): string {
  return text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (each) =>
    each.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** Returns items as a table. */
export function listOf<T>(items: readonly T[], cellsOf: (item: T) => Readonly<Record<string, Cell>>): Output {
  const rows = items.map(cellsOf);
  if (rows[0] === undefined) return { json: items, text: 'None.' };
  const table = [Object.keys(rows[0]).map(headingOf), ...rows.map((row) => Object.values(row).map(cellText))];
  const widths: number[] = [];
  for (const row of table)
    for (const [at, text] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, text.length);
  const padded = (text: string, at: number) => text.padEnd(widths[at] ?? 0);
  const lines = table.map((row) => row.map(padded).join('  ').trimEnd());
  return { json: items, text: lines.join('\n') };
}

/** Returns the heading of a member: BANNED UNTIL for `bannedUntil`, CREATED for `createdAt`. */
function headingOf(name: string): string {
  return name.replace(/At$/, '').replaceAll(/[A-Z]/g, ' $&').toUpperCase();
}

/** Prints a value, a time to the minute; a dash if it is missing. */
export function cellText(value: Cell): string {
  return value instanceof Date ? `${value.toISOString().slice(0, 16)}Z` : String(value ?? '') || '-';
}
