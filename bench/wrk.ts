import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { interruption } from './interruption';
import type { Outcome, Run } from './load-generator';

const execute = promisify(execFile);
const REPLAY = join(__dirname, 'loads', 'replay.lua');
const TIMEOUT_SECONDS = 10;

interface Report {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly errors: number;
  readonly broken: number;
}

export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v']).error === undefined;
}

/** Runs wrk on one thread, which sends about 100,000 requests per second. All connections share one list. */
export async function runWrk({ url, file, connections, seconds, rate = 0 }: Run): Promise<Outcome> {
  const seed = Math.floor(Math.random() * 1e6);
  const how = `--threads 1 --connections ${connections} --duration ${seconds}s --timeout ${TIMEOUT_SECONDS}s`;
  const args = [...how.split(' '), '--script', REPLAY, url, '--', file, String(seed), String(rate)];
  const { stdout } = await execute('wrk', args, { signal: interruption });
  const report = JSON.parse(stdout.slice(stdout.lastIndexOf('{'))) as Report;
  const { requests, microseconds, p50Us, p99Us, errors, broken } = report;
  return {
    requests,
    perSecond: (requests / microseconds) * 1e6,
    p50Ms: p50Us / 1_000,
    p99Ms: p99Us / 1_000,
    errors,
    broken,
  };
}
