import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { Command, Help, type Option } from 'commander';
import { stringify } from 'lossless-json';
import { outputError, UserError } from '../config/user-error';

type Cell = string | number | Date | null;

type Arguments = Parameters<Parameters<Command['action']>[0]>;

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

  /** Adds `--json`, and an action whose result is printed, unless it has printed itself. */
  prints(action: (...args: Arguments) => Promise<Output | undefined>): void {
    this.option('--json', 'print one JSON document').action(async (...args) => {
      const output = await action(...args);
      if (!output) return;
      const { json, text, failure } = output;
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

/**
 * Ends the process if standard output cannot be written: with status 1, or 0 if its reader has stopped, as `head` does. A
 * service, to whose output only an extension writes in this way, stops as after Ctrl-C.
 */
export function watchOutput(): void {
  const { stdout, stderr } = process;
  if (stdout.listenerCount('error') > 0) return;
  // An error of standard error cannot be reported anywhere. One of standard output is reported once: each write has one.
  for (const stream of [stdout, stderr]) stream.on('error', () => undefined);
  stdout.once('error', (error: NodeJS.ErrnoException) => {
    const hasReader = error.code !== 'EPIPE';
    if (hasReader) stderr.write(`${outputError(error).message}\n`);
    if (!process.emit('SIGINT', 'SIGINT')) process.exit(hasReader ? 1 : 0);
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

/** Returns items as a table, or one below the other if the table is wider than the terminal or 80 columns. */
export function listOf<T>(items: readonly T[], cellsOf: (item: T) => Readonly<Record<string, Cell>>): Output {
  const rows = items.map((item) =>
    Object.entries(cellsOf(item)).map(([name, cell]) => [headingOf(name), cellText(cell)] as const),
  );
  const headings = rows[0]?.map(([heading]) => heading) ?? ['None.'];
  const table = [headings, ...rows.map((row) => row.map(([, text]) => text))];
  // Functions take only some 120,000 arguments.
  const widths = headings.map((_, at) => table.reduce((max, row) => Math.max(max, row[at]?.length ?? 0), 0));
  const lines = table.map((row) => {
    const cells = row.map((text, at) => text.padEnd(widths[at] ?? 0));
    return cells.join('  ').trimEnd();
  });
  // Commander breaks long texts between words.
  const help = Object.assign(new Help(), { helpWidth: process.stdout.columns || 80 });
  if (lines.every((line) => line.length <= help.helpWidth)) return { json: items, text: lines.join('\n') };
  const width = Math.max(...headings.map((heading) => heading.length));
  const blocks = rows.map((row) =>
    row
      .filter(([, text]) => text !== '-')
      .map(([heading, text]) => help.formatItem(heading, width, text, help))
      .join('\n'),
  );
  return { json: items, text: blocks.join('\n\n') };
}

/** Returns the heading of a member: BANNED UNTIL for `bannedUntil`, CREATED for `createdAt`. */
function headingOf(name: string): string {
  return name.replace(/At$/, '').replaceAll(/[A-Z]/g, ' $&').toUpperCase();
}

/** Prints a value, a time to the minute; a dash if it is missing. */
export function cellText(value: Cell): string {
  return value instanceof Date
    ? `${value.toISOString().slice(0, 16)}Z`
    : printable(String(value ?? '')) || '-';
}
