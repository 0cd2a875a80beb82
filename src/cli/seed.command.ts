import { randomInt } from 'node:crypto';
import { label, wholeNumber } from './arguments';
import type { CommandContext } from './context';
import type { OutputCommand } from './output';
import { withProgressBar } from './progress-bar';
import { seedPets } from './seed.repository';

const RANDOM_SEEDS = 2 ** 32;

export function addSeedCommand(seed: OutputCommand, context: CommandContext): void {
  seed
    .description('add sample animals; adds none if it fails or is interrupted')
    .requiredOption('--pets <number>', 'number of animals', wholeNumber)
    .option('--random-seed <text>', 'the same text makes the same animals (default: a random number)', label)
    .prints(({ pets, randomSeed = String(randomInt(RANDOM_SEEDS)) }: { pets: number; randomSeed?: string }) =>
      context.withSchema(({ databaseUrl }) => addPets(databaseUrl, pets, randomSeed)),
    );
}

async function addPets(databaseUrl: string, pets: number, randomSeed: string) {
  const startedAt = performance.now();
  await withProgressBar((show) => seedPets(databaseUrl, pets, randomSeed, (done) => show(done / pets)));
  const seconds = (performance.now() - startedAt) / 1_000;
  const rate = Math.round(pets / seconds);
  const animals = pets === 1 ? '1 animal' : `${pets} animals`;
  return {
    json: { pets, randomSeed, seconds },
    text: `Added ${animals} in ${seconds.toFixed(1)} s, ${rate} per second (--random-seed ${randomSeed}).`,
  };
}
