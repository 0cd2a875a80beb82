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
    .action((options) => addPets(context, options));
}

async function addPets(
  context: CommandContext,
  { pets, randomSeed: seed = String(randomInt(RANDOM_SEEDS)) }: SeedOptions,
): Promise<void> {
  await context.withSchema(async ({ databaseUrl }) => {
    const bar = new ProgressBar(pets);
    const startedAt = performance.now();
    try {
      await seedPets(databaseUrl, pets, seed, (done) => bar.show(done));
    } finally {
      bar.clear();
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const rate = Math.round(pets / seconds);
    const animals = pets === 1 ? '1 animal' : `${pets} animals`;
    printLine(`Added ${animals} in ${seconds.toFixed(1)} s, ${rate} per second (--random-seed ${seed}).`);
  });
}
