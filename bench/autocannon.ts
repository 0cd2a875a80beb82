import { join } from 'node:path';
import autocannon from 'autocannon';
import { interruption } from './interruption';
import type { Outcome, Run } from './load-generator';
import type { BenchRequest } from './requests';

const BEGIN_ELSEWHERE = join(__dirname, 'loads', 'begin-elsewhere.cjs');
/** Two workers cannot share one connection. */
const MAX_WORKERS = 2;
const FIRST_ERROR_STATUS = 400;

/** Runs autocannon in worker threads. Each connection begins at a random request. Times are whole milliseconds. */
export async function runAutocannon(
  { url, connections, seconds }: Run,
  requests: readonly BenchRequest[],
): Promise<Outcome> {
  interruption.throwIfAborted();
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    workers: Math.min(MAX_WORKERS, connections),
    // A worker takes a path; the types allow only a function.
    setupClient: BEGIN_ELSEWHERE as unknown as (client: autocannon.Client) => void,
    requests: requests.map(({ method, path, key, body }) => ({
      method,
      path,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })),
  });
  const { duration, latency, errors: failures, timeouts, statusCodeStats = {} } = result;
  const counts = Object.entries(statusCodeStats).map(
    ([code, { count = 0 }]) => [Number(code), count] as const,
  );
  const sum = (all: typeof counts): number => all.reduce((total, [, count]) => total + count, 0);
  const responded = sum(counts);
  return {
    requests: responded,
    perSecond: responded / duration,
    p50Ms: latency.p50,
    p99Ms: latency.p99,
    errors: sum(counts.filter(([code]) => code >= FIRST_ERROR_STATUS)),
    broken: failures + timeouts,
  };
}
