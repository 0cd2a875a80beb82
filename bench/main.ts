import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { compare } from './compare';
import { comparisonTable } from './comparison-table';
import { measureGrowth } from './growth';
import { measureMemory } from './memory';
import { type Measure, type Options, readOptions, USAGE } from './options';
import { measureProfile } from './profile';
import { measureSql } from './sql';
import { createWorld } from './world';

const RESULTS = join(__dirname, 'results');
const BYTES_PER_GIB = 1_073_741_824;

/** On which the figures depend. */
const machine = {
  processors: cpus().length,
  model: cpus()[0]?.model ?? 'unknown',
  memoryGiB: Math.round(totalmem() / BYTES_PER_GIB),
  node: process.version,
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const compareServers: Measure = async (world, options) => {
  const data = await compare(world, options, say);
  const { connections, pets, rounds, seconds } = options;
  const title = `${connections} connections, ${pets} animals, medians of ${rounds} rounds of ${seconds} s`;
  return { ...data, table: comparisonTable(title, data) };
};

const MEASURES: Readonly<Record<Options['name'], Measure>> = {
  compare: compareServers,
  workers: compareServers,
  memory: measureMemory,
  profile: measureProfile,
  sql: measureSql,
  growth: measureGrowth,
};

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return print(USAGE);
  const options = readOptions();
  const world = await createWorld(options.name === 'sql' || options.name === 'growth');
  const result = await MEASURES[options.name](world, options, say);
  await world.stop();
  const { title, rows } = result.table;
  print(`\n${title}; ${machine.processors} × ${machine.model}, Node ${machine.node}`);
  console.table(rows);
  print(`Kept in ${keepResults(options.name, { options, ...result })}`);
}

/** Writes every run of a measurement as JSON. @returns the name of the file */
function keepResults(name: string, data: object): string {
  mkdirSync(RESULTS, { recursive: true });
  const at = new Date().toISOString();
  // The name includes the minute, so that no run overwrites another of the same day.
  const file = join(RESULTS, `${at.slice(0, 16).replace(':', '')}-${name}.json`);
  writeFileSync(file, `${JSON.stringify({ at, machine, ...data }, null, 2)}\n`);
  return file;
}

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  // Ends the servers, too.
  process.exit(1);
});
