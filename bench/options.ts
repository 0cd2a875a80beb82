import { parseArgs } from 'node:util';
import { type LoadName, loads } from './loads';
import { SERVER_NAMES } from './servers';

const LOAD_NAMES = Object.keys(loads) as LoadName[];
const USUAL_SERVERS = SERVER_NAMES.filter((name) => name !== 'previous');

export const USAGE = `npm run bench [-- options]           the service against three baselines
npm run bench -- memory [options]    its resident memory over --requests 2000000

  --rounds 7  --seconds 2  --connections 32  --pets 1000000
  --only ${LOAD_NAMES.join(',')}
  --servers ${USUAL_SERVERS.join(',')}   or previous: an earlier build, copied to dist-previous
  --profile FOLDER   a CPU profile of each server, for Chrome's developer tools
`;

export type Options = ReturnType<typeof readOptions>;

/** @throws Error if the command line is invalid */
export function readOptions() {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: text('7'),
      seconds: text('2'),
      connections: text('32'),
      pets: text('1000000'),
      requests: text('2000000'),
      only: text(LOAD_NAMES.join(',')),
      servers: text(USUAL_SERVERS.join(',')),
      profile: { type: 'string' },
    },
  });
  const number = (name: 'rounds' | 'seconds' | 'connections' | 'pets' | 'requests'): number => {
    if (!/^[1-9]\d*$/.test(values[name])) throw new Error(`--${name} must be a whole number greater than 0.`);
    return Number(values[name]);
  };
  return {
    isMemory: positionals.includes('memory'),
    rounds: number('rounds'),
    seconds: number('seconds'),
    connections: number('connections'),
    pets: number('pets'),
    requests: number('requests'),
    only: listOf('only', values.only, LOAD_NAMES),
    servers: listOf('servers', values.servers, SERVER_NAMES),
    profile: values.profile,
  };
}

function listOf<T extends string>(option: string, text: string, known: readonly T[]): T[] {
  return text.split(',').map((name) => {
    const found = known.find((each) => each === name);
    if (found === undefined) throw new Error(`--${option}: unknown name "${name}".`);
    return found;
  });
}
