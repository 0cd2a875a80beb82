import { connect } from 'node:net';
import type { BenchRequest } from './loads';
import { quantileOf } from './figures';

/** The figures of one run. */
export interface Observation {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Run {
  readonly port: number;
  readonly requests: readonly BenchRequest[];
  readonly connections: number;
  readonly seconds: number;
  /** True if every response must be an error; false if none may be. */
  readonly expectErrors: boolean;
}

const TIMEOUT_MS = 10_000;
const FIRST_ERROR_STATUS = 400;

/**
 * Sends the requests in turn, repeatedly, from a random one; each connection has one at a time. A library would keep a
 * copy of all requests for each connection, and parse each response.
 *
 * @throws Error if a response was unexpected or missing
 */
export async function runLoad(run: Run): Promise<Observation> {
  const { requests, connections, seconds, expectErrors } = run;
  const prepared = requests.map(prepare);
  const milliseconds: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  let unexpected: number | undefined;
  let at = Math.floor(Math.random() * prepared.length);
  const next = (now: number): Prepared | undefined => {
    at = (at + 1) % prepared.length;
    return now < endsAt ? prepared[at] : undefined;
  };
  const onResponse = (status: number, ms: number): void => {
    if (status >= FIRST_ERROR_STATUS !== expectErrors) unexpected = status;
    milliseconds.push(ms);
  };
  await Promise.all(Array.from({ length: connections }, () => replay(run.port, next, onResponse)));
  if (unexpected !== undefined) throw new Error(`unexpected response: ${unexpected}`);
  const sorted = Float64Array.from(milliseconds).sort();
  return {
    requests: sorted.length,
    perSecond: (sorted.length / (performance.now() - startedAt)) * 1_000,
    p50Ms: quantileOf(sorted, 0.5),
    p99Ms: quantileOf(sorted, 0.99),
  };
}

/** The bytes of a request, and the request that follows it. */
type Prepared = Pick<BenchRequest, 'following'> & { readonly bytes: string };

/** Sends requests on one connection until `next` has none. */
function replay(
  port: number,
  next: (now: number) => Prepared | undefined,
  onResponse: (status: number, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = '';
    let sentAt = 0;
    let sent: Prepared | undefined;
    const send = (following?: Prepared): void => {
      sentAt = performance.now();
      sent = following ?? next(sentAt);
      if (sent === undefined) socket.end();
      else socket.write(sent.bytes);
    };
    const socket = connect(port, '127.0.0.1', () => send())
      .setEncoding('latin1')
      .setNoDelay();
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no response within 10 s')));
    socket.on('data', (text: string) => {
      received += text;
      const status = statusOf(received);
      if (status === undefined) return;
      onResponse(status, performance.now() - sentAt);
      const following = sent?.following?.(received);
      received = '';
      send(following && prepare(following));
    });
    socket.on('error', reject).on('close', resolve);
  });
}

/** Returns the status of a complete response; undefined if a part is missing. */
function statusOf(response: string): number | undefined {
  const head = response.indexOf('\r\n\r\n');
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(response)?.[1]);
  return head < 0 || response.length < head + 4 + length ? undefined : Number(response.slice(9, 12));
}

function prepare({ method, path, key, body, following }: BenchRequest): Prepared {
  const text = body ? JSON.stringify(body) : '';
  const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`;
  const content = body ? `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n` : '';
  const bytes = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}${content}\r\n${text}`;
  return { bytes, following };
}
