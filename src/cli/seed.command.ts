import { randomInt } from 'node:crypto';
import { label, wholeNumber } from './arguments';
import type { CommandContext } from './context';
import type { OutputCommand } from './output';
import { seedPets } from './seed.repository';

const RANDOM_SEEDS = 2 ** 32;
const BAR_WIDTH = 40;
const MAX_PERCENT = 100;

interface SeedOptions {
  readonly pets: number;
  readonly randomSeed?: string;
}

export function addSeedCommand(seed: OutputCommand, context: CommandContext): void {
  seed
    .description('add sample animals; adds none if it fails or is interrupted')
    .requiredOption('--pets <number>', 'number of animals', wholeNumber)
    .option('--random-seed <text>', 'the same text makes the same animals (default: a random number)', label)
    .prints(({ pets, randomSeed = String(randomInt(RANDOM_SEEDS)) }: SeedOptions) =>
      context.withSchema(({ databaseUrl }) => addPets(databaseUrl, pets, randomSeed)),
    );
}

async function addPets(databaseUrl: string, pets: number, randomSeed: string) {
  const bar = new ProgressBar(pets);
  const startedAt = performance.now();
  try {
    await seedPets(databaseUrl, pets, randomSeed, (done) => bar.show(done));
  } finally {
    bar.clear();
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const rate = Math.round(pets / seconds);
  const animals = pets === 1 ? '1 animal' : `${pets} animals`;
  return {
    json: { pets, randomSeed, seconds },
    text: `Added ${animals} in ${seconds.toFixed(1)} s, ${rate} per second (--random-seed ${randomSeed}).`,
  };
}

/** A progress bar on one line of a terminal; writes nothing to other streams. */
export class ProgressBar {
  private shownPercent = -1;

  constructor(
    private readonly total: number,
    private readonly screen: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
  ) {}

  /** Draws the bar again if it has grown by at least 1 %. */
  show(done: number): void {
    const percent = Math.floor((done / this.total) * MAX_PERCENT);
    if (!this.screen.isTTY || percent === this.shownPercent) return;
    this.shownPercent = percent;
    const filled = Math.floor((percent / MAX_PERCENT) * BAR_WIDTH);
    const bar = '█'.repeat(filled).padEnd(BAR_WIDTH, '░');
    this.screen.write(`\r${bar} ${String(percent).padStart(3)} %  ${done} of ${this.total}`);
  }

  /** Removes the bar, so that the next output begins on an empty line. */
  clear(): void {
    if (this.shownPercent >= 0) this.screen.write('\r\u001B[2K');
  }
}
