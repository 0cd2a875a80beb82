import { readFileSync, writeFileSync } from 'node:fs';
import { runAutocannon } from './autocannon';
import type { BenchRequest } from './requests';
import { hasWrk, runWrk } from './wrk';

/** The figures of one run of a load generator. */
export interface Observation {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Run {
  readonly url: string;
  /** A file of `writeRequests`. */
  readonly file: string;
  readonly connections: number;
  readonly seconds: number;
  /** Requests per second over all connections, only for wrk; undefined sends without a pause. */
  readonly rate?: number | undefined;
  /** True if every response must be an error; false if none may be. */
  readonly expectErrors: boolean;
}

/** The figures of a run, with its failures. */
export interface Outcome extends Observation {
  /** The number of responses with a status of 400 or above. */
  readonly errors: number;
  /** The number of requests without a response. */
  readonly broken: number;
}

/** `wrk` if it is installed, else autocannon, which needs a processor for itself. */
export const generator = hasWrk() ? 'wrk' : 'autocannon';

/**
 * Sends the requests of a file in turn, repeatedly.
 *
 * @throws Error if a response was unexpected or missing
 */
export async function runLoad(run: Run): Promise<Observation> {
  const outcome = await (generator === 'wrk' ? runWrk(run) : runAutocannon(run, readRequests(run.file)));
  const { requests, errors, broken } = outcome;
  if (requests === 0 || broken > 0 || errors !== (run.expectErrors ? requests : 0)) {
    throw new Error(`${generator} got unexpected responses: ${JSON.stringify(outcome)}`);
  }
  return outcome;
}

/** Writes one request per line, as `replay.lua` reads them. */
export function writeRequests(file: string, requests: readonly BenchRequest[]): void {
  const lines = requests.map(({ method, path, key = '-', body }) =>
    [method, path, key, ...(body ? [JSON.stringify(body)] : [])].join(' '),
  );
  writeFileSync(file, `${lines.join('\n')}\n`);
}

function readRequests(file: string): BenchRequest[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [, method = '', path = '', key = '', body = ''] = /^(\S+) (\S+) (\S+) ?(.*)$/.exec(line) ?? [];
    return {
      method: method === 'POST' ? 'POST' : 'GET',
      path,
      key: key === '-' ? undefined : key,
      ...(body === '' ? {} : { body: JSON.parse(body) as object }),
    };
  });
}
