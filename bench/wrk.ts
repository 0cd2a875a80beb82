import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { interruption } from './interruption';
import type { BenchRequest } from './requests';

const execute = promisify(execFile);
const REPLAY = join(__dirname, 'loads', 'replay.lua');
const TIMEOUT_SECONDS = 10;

/** What wrk saw of one run. */
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

interface Report {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly refused: number;
  readonly broken: number;
}

/** Writes requests as `replay.lua` reads them. */
export function writeRequests(file: string, requests: readonly BenchRequest[]): void {
  const lines = requests.map(({ method, path, key = '-', body }) =>
    [method, path, key, ...(body ? [JSON.stringify(body)] : [])].join(' '),
  );
  writeFileSync(file, `${lines.join('\n')}\n`);
}

/**
 * Sends the requests in turn, over and over, on one thread: wrk sends some 100,000 a second so.
 *
 * @throws Error where an answer was not of the kind that was expected, or none came
 */
export async function runWrk({ url, file, connections, seconds, isRefused }: Run): Promise<Observation> {
  const seed = String(Math.floor(Math.random() * 1e6));
  const how = `--threads 1 --connections ${connections} --duration ${seconds}s --timeout ${TIMEOUT_SECONDS}s`;
  const { stdout } = await execute('wrk', [...how.split(' '), '--script', REPLAY, url, '--', file, seed], {
    signal: interruption,
  });
  const report = JSON.parse(stdout.slice(stdout.lastIndexOf('{'))) as Report;
  const expected = isRefused ? report.requests : 0;
  if (report.requests === 0 || report.broken > 0 || report.refused !== expected) {
    throw new Error(`wrk got answers that were not expected: ${JSON.stringify(report)}`);
  }
  return {
    requests: report.requests,
    perSecond: (report.requests / report.microseconds) * 1e6,
    p50Ms: report.p50Us / 1_000,
    p99Ms: report.p99Us / 1_000,
  };
}
