import { parseArgs } from 'node:util';
import { PART_NAMES, type PartName } from './growth/growth';
import { isLoadName, type LoadName, loads } from './loads';
import { generator } from './load-generator';
import { SERVER_NAMES, type ServerName } from './servers';

/** The options of the command line. */
export interface Options {
  readonly command: 'compare' | 'growth';
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly pets: number;
  readonly only: readonly LoadName[];
  readonly servers: readonly ServerName[];
  /** Measures each load at half the rate of the slowest server, too. */
  readonly rate: boolean;
  /** The parts of the growth measurement to run. */
  readonly parts: readonly PartName[];
  /** The number of requests of the memory measurement. */
  readonly requests: number;
  /** The folder for CPU profiles of the servers; undefined writes none. */
  readonly profile: string | undefined;
}

const USUAL_SERVERS: readonly ServerName[] = SERVER_NAMES.filter(
  (name) => name !== 'previous' && name !== 'traced',
);
/** At half the rate of the textbook the other servers would be nearly idle. */
const SERVERS_AT_RATE = USUAL_SERVERS.filter((name) => name !== 'textbook');

export const USAGE = `npm run bench [-- options]           the service against three baselines
npm run bench -- growth [options]    how it grows

  --rounds 7  --seconds 2  --connections 32  --pets 1000000
  --only ${Object.keys(loads).join(',')}
  --servers ${USUAL_SERVERS.join(',')}   or previous: an earlier build, copied to dist-previous;
                     traced: the service with an SDK for traces
  --rate             latencies at half the rate of the slowest server, too; by default without textbook
  --profile FOLDER   a CPU profile of each server, for Chrome's developer tools
  growth: --parts ${PART_NAMES.join(',')}  --requests 2000000
`;

/** An error in the command line, with a message for the user. */
export class UsageError extends Error {}

const DEFAULTS = { rounds: '7', seconds: '2', connections: '32', pets: '1000000', requests: '2000000' };

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        rounds: { type: 'string', default: DEFAULTS.rounds },
        seconds: { type: 'string', default: DEFAULTS.seconds },
        connections: { type: 'string', default: DEFAULTS.connections },
        pets: { type: 'string', default: DEFAULTS.pets },
        requests: { type: 'string', default: DEFAULTS.requests },
        only: { type: 'string', default: Object.keys(loads).join(',') },
        servers: { type: 'string' },
        rate: { type: 'boolean', default: false },
        parts: { type: 'string', default: PART_NAMES.join(',') },
        profile: { type: 'string' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** @throws UsageError if the command line is invalid */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const [command = 'compare'] = positionals;
  if (command !== 'compare' && command !== 'growth')
    throw new UsageError(`Unknown measurement "${command}".`);
  // autocannon sends the requests of each second without a pause, and then waits for the next one.
  if (values.rate && generator !== 'wrk') throw new UsageError('--rate needs wrk (apt-get install wrk).');
  const usual = values.rate ? SERVERS_AT_RATE : USUAL_SERVERS;
  return {
    command,
    rounds: wholeNumber('rounds', values.rounds),
    seconds: wholeNumber('seconds', values.seconds),
    connections: wholeNumber('connections', values.connections),
    pets: wholeNumber('pets', values.pets),
    requests: wholeNumber('requests', values.requests),
    only: listOf('--only', values.only, isLoadName),
    servers: listOf('--servers', values.servers ?? usual.join(','), (name) =>
      SERVER_NAMES.some((each) => each === name),
    ),
    rate: values.rate,
    parts: listOf('--parts', values.parts, (name) => PART_NAMES.some((each) => each === name)),
    profile: values.profile,
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new UsageError(`--${name} must be a whole number greater than 0.`);
  return Number(text);
}

function listOf<T extends string>(option: string, text: string, isKnown: (name: string) => boolean): T[] {
  const names = text.split(',');
  const unknown = names.find((name) => !isKnown(name));
  if (unknown !== undefined) throw new UsageError(`${option}: unknown name "${unknown}".`);
  return names as T[];
}
