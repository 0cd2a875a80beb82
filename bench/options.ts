import { parseArgs } from 'node:util';
import type { Table } from './figures';
import { type LoadName, loads } from './loads';
import { SERVER_NAMES } from './servers';
import type { World } from './world';

const LOAD_NAMES = Object.keys(loads) as LoadName[];
const ADMITTED = LOAD_NAMES.filter((name) => !loads[name].isRejected).join();

const DEFAULTS = {
  rounds: '7',
  seconds: '2',
  connections: '32',
  pets: '1000000',
  accounts: '1,10000',
  webhooks: '1,100',
  requests: '2000000',
  only: LOAD_NAMES.join(),
  servers: SERVER_NAMES.filter((name) => name !== 'workers' && name !== 'previous').join(),
};

/** The measurements, with the defaults in which they differ. */
const MEASUREMENTS = {
  compare: {},
  memory: { pets: '100000' },
  profile: { seconds: '12' },
  sql: { seconds: '5', only: ADMITTED },
  workers: { only: ADMITTED, servers: 'service,workers' },
  growth: { seconds: '5', pets: '10000,1000000,5000000', only: 'hot,mixed,one,create' },
};

export const USAGE = `npm run bench [-- options]    the service against its baselines
npm run bench -- memory       its resident memory: idle, and over --requests ${DEFAULTS.requests}
npm run bench -- profile      its processor time by file
npm run bench -- sql          its statements, with their buffers and WAL
npm run bench -- workers      two workers against one process, with Redis
npm run bench -- growth       its speed by the numbers of --pets, --accounts and --webhooks

  --rounds  --seconds  --connections  --pets
  --only ${DEFAULTS.only}
  --servers ${DEFAULTS.servers}   or previous: an earlier build, copied to dist-previous
`;

export type Options = ReturnType<typeof readOptions>;

/** Measures something in a database without animals. */
export type Measure = (
  world: World,
  options: Options,
  say: (line: string) => void,
) => Promise<{ readonly table: Table }>;

/** @throws Error if the command line is invalid */
export function readOptions() {
  const names = Object.keys(DEFAULTS).map((name) => [name, { type: 'string' }] as const);
  const { values, positionals } = parseArgs({ allowPositionals: true, options: Object.fromEntries(names) });
  const measurements = Object.keys(MEASUREMENTS) as (keyof typeof MEASUREMENTS)[];
  const [name = 'compare'] = listOf(positionals[0] ?? 'compare', measurements);
  const given: typeof DEFAULTS = { ...DEFAULTS, ...MEASUREMENTS[name], ...values };
  const numbers = (option: keyof typeof DEFAULTS): number[] => given[option].split(',').map(Number);
  const number = (option: keyof typeof DEFAULTS): number => {
    const largest = Math.max(...numbers(option));
    if (!(largest > 0)) throw new Error(`--${option} must be a number greater than 0.`);
    return largest;
  };
  return {
    name,
    rounds: number('rounds'),
    seconds: number('seconds'),
    connections: number('connections'),
    pets: number('pets'),
    requests: number('requests'),
    growth: { pets: numbers('pets'), accounts: numbers('accounts'), webhooks: numbers('webhooks') },
    only: listOf(given.only, LOAD_NAMES),
    servers: listOf(given.servers, SERVER_NAMES),
  };
}

function listOf<T extends string>(text: string, known: readonly T[]): T[] {
  return text.split(',').map((name) => {
    const found = known.find((each) => each === name);
    if (found === undefined) throw new Error(`"${name}" is none of ${known.join()}.`);
    return found;
  });
}
