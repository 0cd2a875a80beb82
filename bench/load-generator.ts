import { readFileSync, writeFileSync } from 'node:fs';
import { runAutocannon } from './autocannon';
import type { BenchRequest } from './requests';
import { hasWrk, runWrk } from './wrk';

/** What a load generator saw of one run. */
export interface Observation {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Run {
  readonly url: string;
  /** Made by `writeRequests`. */
  readonly file: string;
  readonly connections: number;
  readonly seconds: number;
  /** Whether the answers are to be errors: all of them, or none. */
  readonly isRefused: boolean;
}

/** How many answers came, and how many of them were not as they should be. */
export interface Outcome extends Observation {
  readonly refused: number;
  /** Those of which no answer came. */
  readonly broken: number;
}

/** `wrk` where it is installed; else autocannon, which itself takes a processor. */
export const generator = hasWrk() ? 'wrk' : 'autocannon';

/**
 * Sends the requests in turn, over and over.
 *
 * @throws Error where an answer was not of the kind that was expected, or none came
 */
export async function runLoad(run: Run): Promise<Observation> {
  const outcome = await (generator === 'wrk' ? runWrk(run) : runAutocannon(run, readRequests(run.file)));
  const { requests, refused, broken } = outcome;
  if (requests === 0 || broken > 0 || refused !== (run.isRefused ? requests : 0)) {
    throw new Error(`${generator} got answers that were not expected: ${JSON.stringify(outcome)}`);
  }
  return outcome;
}

/** Writes requests as `replay.lua` reads them: one a line. */
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
