import { randomInt } from 'node:crypto';
import type { Command } from 'commander';
import { randomSeed, wholeNumber } from './arguments';
import type { CommandContext } from './context';
import { printLine } from './output';
import { ProgressBar } from './progress-bar';
import { seedPets } from './seed.repository';

const RANDOM_SEEDS = 2 ** 32;

interface SeedOptions {
  readonly pets: number;
  readonly randomSeed?: string;
}

export function addSeedCommand(seed: Command, context: CommandContext): void {
  seed
    .description('add sample animals; adds none if it fails or is interrupted')
    .requiredOption('--pets <number>', 'number of animals', wholeNumber)
    .option(
      '--random-seed <text>',
      'the same text makes the same animals (default: a random number)',
      randomSeed,
    )
    .action(({ pets, randomSeed: text = String(randomInt(RANDOM_SEEDS)) }: SeedOptions) =>
      context.withSchema(({ databaseUrl }) => addPets(databaseUrl, pets, text)),
    );
}

async function addPets(databaseUrl: string, pets: number, text: string): Promise<void> {
  const bar = new ProgressBar(pets);
  const startedAt = performance.now();
  try {
    await seedPets(databaseUrl, pets, text, (done) => bar.show(done));
  } finally {
    bar.clear();
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const rate = Math.round(pets / seconds);
  const animals = pets === 1 ? '1 animal' : `${pets} animals`;
  printLine(`Added ${animals} in ${seconds.toFixed(1)} s, ${rate} per second (--random-seed ${text}).`);
}
