import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { label, wholeNumber } from './arguments';
import { rejectExisting, writeWholeFile } from './backup/whole-file';
import type { CommandContext } from './context';
import type { OutputCommand } from './output';
import { PET_FORMATS, PetFile, type PetFormat, STANDARD_INPUT } from './pet-file';
import { exportPets, importPets } from './pet-transfer.repository';
import { withProgressBar } from './progress-bar';
import { seedPets } from './seed.repository';

interface Options {
  readonly format?: PetFormat;
  readonly bom?: true;
  readonly force?: true;
  readonly json?: true;
  readonly dryRun?: true;
}

export function addPetsCommands(pets: OutputCommand, context: CommandContext): void {
  pets
    .command('export [file]')
    .description('write animals to a file or to standard output; the service may run')
    .addOption(formatOption('default: by the ending of the file, else jsonl'))
    .option('--bom', 'begin with a byte-order mark, so that Excel reads UTF-8')
    .option('--force', 'replace an existing file')
    .prints(async (name: string | undefined, { json, force, bom, ...options }: Options, command: Command) => {
      const format = formatOf(name, options) ?? 'jsonl';
      const file = name === undefined || name === '-' ? undefined : resolve(name);
      if (file === undefined && json) command.error('error: --json needs a file for the animals.');
      if (file !== undefined) rejectExisting(file, force === true);
      const marked = async function* (text: AsyncIterable<Buffer>) {
        if (bom) yield '\uFEFF';
        yield* text;
      };
      const write = (text: AsyncIterable<Buffer>): Promise<unknown> =>
        file === undefined
          ? pipeline(marked(text), process.stdout, { end: false })
          : writeWholeFile(file, (target) => pipeline(marked(text), target));
      // On a terminal the bar would be between the animals.
      const isBar = file !== undefined || !process.stdout.isTTY;
      const animals = await context.withSchema(({ databaseUrl }) =>
        withProgressBar((show) => exportPets(databaseUrl, format, write, isBar ? show : () => undefined)),
      );
      if (file === undefined) return undefined;
      return { json: { file, format, animals }, text: `Wrote ${named(animals)} to ${file}.` };
    });
  pets
    .command('import <file>')
    .description('add the animals of a file (- for standard input), all or none; the service may run')
    .addOption(formatOption('default: by the ending of the file'))
    .option('--dry-run', 'only check the file')
    .prints((name: string, options: Options, command: Command) => {
      const format = formatOf(name, options);
      if (!format) command.error('error: The file must end with .csv or .jsonl. Otherwise add --format.');
      if (name === '-' && process.stdin.isTTY) process.stderr.write('Type the lines, then Ctrl-D.\n');
      return context.withSchema(({ databaseUrl }) =>
        withProgressBar((show) => {
          const file = new PetFile(
            name === '-' ? STANDARD_INPUT : resolve(name),
            format,
            // The database takes the second half of the time.
            (share) => show(options.dryRun ? share : share / 2),
            options.dryRun,
          );
          return readPets(databaseUrl, file, options.dryRun === true, show);
        }),
      );
    });
}

export function addSeedCommand(seed: OutputCommand, context: CommandContext): void {
  seed
    .description('add sample animals; adds none if it fails or is interrupted')
    .requiredOption('--pets <number>', 'number of animals', wholeNumber)
    .option('--random-seed <text>', 'the same text makes the same animals (default: a random number)', label)
    .prints(({ pets, randomSeed = String(randomInt(2 ** 32)) }: { pets: number; randomSeed?: string }) =>
      context.withSchema(async ({ databaseUrl }) => {
        await withProgressBar((show) => seedPets(databaseUrl, pets, randomSeed, (done) => show(done / pets)));
        return { json: { pets, randomSeed }, text: `Added ${named(pets)} (--random-seed ${randomSeed}).` };
      }),
    );
}

function formatOption(otherwise: string): Option {
  return new Option('--format <format>', `format of the file (${otherwise})`).choices(PET_FORMATS);
}

function formatOf(name = '', { format }: Options): PetFormat | undefined {
  return format ?? PET_FORMATS.find((each) => name.toLowerCase().endsWith(`.${each}`));
}

async function readPets(
  databaseUrl: string,
  file: PetFile,
  isDryRun: boolean,
  show: (share: number) => void,
) {
  const isGood = await importPets(databaseUrl, file, isDryRun, (share) => show(0.5 + share / 2));
  const { path, animals: valid, badLines: bad, problems } = file;
  const json = { file: path, valid, bad, imported: isGood && !isDryRun ? valid : 0, problems };
  if (isGood) return { json, text: `${isDryRun ? 'Checked' : 'Imported'} ${named(valid)} of ${path}.` };
  const lines = problems.map(({ line, problems: each }) => `line ${line}: ${each.join('; ')}`);
  if (bad > lines.length) lines.push(`and ${bad - lines.length} more`);
  const failure = `${path} has bad lines (${bad}): nothing was imported. Correct them and repeat.`;
  return { json, text: lines.join('\n'), failure };
}

function named(animals: number): string {
  return animals === 1 ? '1 animal' : `${animals} animals`;
}
