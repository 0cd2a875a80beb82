import { join } from 'node:path';
import autocannon from 'autocannon';
import { interruption } from './interruption';
import type { Outcome, Run } from './load-generator';
import type { BenchRequest } from './requests';

const BEGIN_ELSEWHERE = join(__dirname, 'loads', 'begin-elsewhere.cjs');
/** One connection cannot be shared by two. */
const MOST_WORKERS = 2;
const FIRST_REFUSAL = 400;

/** In worker threads; each connection has the list for itself, and begins elsewhere in it. Times are whole milliseconds. */
export async function runAutocannon(
  { url, connections, seconds }: Run,
  requests: readonly BenchRequest[],
): Promise<Outcome> {
  interruption.throwIfAborted();
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    workers: Math.min(MOST_WORKERS, connections),
    // A path, because a worker cannot be given a function; the types know only that.
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
  const { duration, latency, errors, timeouts, statusCodeStats = {} } = result;
  const counts = Object.entries(statusCodeStats).map(
    ([code, { count = 0 }]) => [Number(code), count] as const,
  );
  const sum = (of: typeof counts): number => of.reduce((total, [, count]) => total + count, 0);
  const answered = sum(counts);
  return {
    requests: answered,
    perSecond: answered / duration,
    p50Ms: latency.p50,
    p99Ms: latency.p99,
    refused: sum(counts.filter(([code]) => code >= FIRST_REFUSAL)),
    broken: errors + timeouts,
  };
}
