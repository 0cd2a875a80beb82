import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { label, wholeNumber } from './arguments';
import type { CommandContext } from './context';
import type { OutputCommand } from './output';
import { PetFile } from './pet-file';
import { exportPets, EXPORTS, importPets } from './pet-transfer.repository';
import { withProgressBar } from './progress-bar';
import { seedPets } from './seed.repository';

export function addPetsCommands(pets: OutputCommand, context: CommandContext): void {
  pets
    .command('export')
    .description('write all animals to standard output; the service may run')
    .addOption(new Option('--format <format>', 'format').choices(Object.keys(EXPORTS)).default('jsonl'))
    .action(({ format }: { format: keyof typeof EXPORTS }) =>
      context.withSchema(({ databaseUrl }) =>
        withProgressBar((show) => {
          // On a terminal the bar would be between the animals.
          const onProgress = process.stdout.isTTY ? () => undefined : show;
          return exportPets(databaseUrl, format, process.stdout, onProgress);
        }),
      ),
    );
  pets
    .command('import <file>')
    .description('add the animals of a file (.csv, or JSON lines), all or none; the service may run')
    .option('--dry-run', 'only check the file')
    .prints((name: string, { dryRun }: { dryRun?: true }) =>
      context.withSchema(({ databaseUrl }) =>
        withProgressBar(async (show) => {
          const path = resolve(name);
          // The database takes the second half of the time.
          const file = await PetFile.read(path, (share) => show(share / 2));
          const isImported = file.badLines === 0 && !dryRun;
          if (isImported) await importPets(databaseUrl, file, (share) => show((1 + share) / 2));
          return resultOf(path, file, isImported);
        }),
      ),
    );
}

export function addSeedCommand(seed: OutputCommand, context: CommandContext): void {
  seed
    .description('add sample animals; adds none if it fails or is interrupted')
    .requiredOption('--pets <number>', 'number of animals', wholeNumber)
    .option('--random-seed <text>', 'the same text makes the same animals (default: a random number)', label)
    .prints(({ pets, randomSeed = String(randomInt(2 ** 32)) }: { pets: number; randomSeed?: string }) =>
      context.withSchema(async ({ databaseUrl }) => {
        await withProgressBar((show) => seedPets(databaseUrl, pets, randomSeed, (done) => show(done / pets)));
        return { json: { pets, randomSeed }, text: `Added ${pets} animals (--random-seed ${randomSeed}).` };
      }),
    );
}

function resultOf(path: string, { animals: valid, badLines: bad, problems }: PetFile, isImported: boolean) {
  const json = { file: path, valid, bad, imported: isImported ? valid : 0, problems };
  if (bad === 0) return { json, text: `${isImported ? 'Imported' : 'Checked'} ${valid} animals of ${path}.` };
  const lines = problems.map(({ line, problems: each }) => `line ${line}: ${each.join('; ')}`);
  if (bad > lines.length) lines.push(`and ${bad - lines.length} more`);
  const failure = `${path} has bad lines (${bad}): nothing was imported. Correct them and repeat.`;
  return { json, text: lines.join('\n'), failure };
}
