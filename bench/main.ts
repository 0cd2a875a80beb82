import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { compare } from './compare';
import { comparisonTable } from './comparison-table';
import { type Table, toMarkdown } from './figures';
import { measureMemory } from './memory';
import { type Options, readOptions, USAGE } from './options';
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

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return print(USAGE);
  const options = readOptions();
  const { data, table } = await (options.isMemory ? memory(options) : comparison(options));
  print(`\n${table.title}\n\n${toMarkdown(table)}`);
  print(`\nKept in ${keepResults(options.isMemory ? 'memory' : 'compare', { options, ...data })}`);
}

async function comparison(options: Options): Promise<{ data: object; table: Table }> {
  const data = await compare(options, say);
  const { connections, pets, rounds, seconds } = options;
  const how = `${connections} connections, ${pets} animals, medians of ${rounds} rounds of ${seconds} s`;
  const title = `${how}; ${machine.processors} × ${machine.model}, Node ${machine.node}`;
  return { data, table: comparisonTable(title, data) };
}

async function memory(options: Options): Promise<{ data: object; table: Table }> {
  const world = await createWorld();
  try {
    const table = await measureMemory(world, options, say);
    return { data: { table }, table };
  } finally {
    await world.stop();
  }
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
  process.exitCode = 1;
});
