import { compare } from './compare';
import { measureGrowth, PART_NAMES } from './growth/growth';
import { interruption } from './interruption';
import { generator } from './load-generator';
import { type Options, readOptions, USAGE, UsageError } from './options';
import { keepResults, machine } from './results';
import { comparisonTable, rateTable, type Table, toMarkdown } from './table';

const FIRST_ARGUMENT = 2;

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  const args = process.argv.slice(FIRST_ARGUMENT);
  if (args.includes('--help')) return print(USAGE);
  const options = readOptions(args);
  if (generator === 'autocannon')
    say(
      'The load generator is autocannon, which needs a processor for itself. Install wrk (apt-get install wrk) for higher figures.',
    );
  const { data, tables } = options.command === 'growth' ? await growth(options) : await comparison(options);
  for (const table of tables) print(`\n${table.title}\n\n${toMarkdown(table)}`);
  for (const file of keepResults(nameOf(options), { options, ...data }, tables)) print(`\nKept in ${file}`);
}

function nameOf({ command, parts }: Options): string {
  const isPart = command === 'growth' && parts.length < PART_NAMES.length;
  return isPart ? [command, ...parts].join('-') : command;
}

async function comparison(options: Options): Promise<{ data: object; tables: Table[] }> {
  const result = await compare(options, say);
  const { processors, model, node } = machine();
  const how = `${options.connections} connections, ${options.pets} animals, medians of ${options.rounds} rounds of ${options.seconds} s; ${processors} × ${model}, Node ${node}, load from ${generator}`;
  const tables = [comparisonTable(how, result)];
  if (options.rate) tables.push(rateTable(`Half the rate of the slowest server: ${how}`, result));
  return { data: result, tables };
}

async function growth(options: Options): Promise<{ data: object; tables: Table[] }> {
  const tables = await measureGrowth(options, say);
  return { data: { tables }, tables };
}

main().catch((error: unknown) => {
  if (interruption.aborted) say('Interrupted.');
  else if (error instanceof UsageError) say(`${error.message}\n\n${USAGE}`);
  else say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
