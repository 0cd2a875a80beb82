import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { normalizeIp } from '@nestjs/throttler';
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { API_KEY_MARK } from './logger';
import type { Clock } from '../time/clock';
import { MINUTE_MS } from '../time/time';
import { COUNTED } from '../api/routes/request-context';
import { rawPath } from './framing';

/** One percent-encoded byte, encoded any number of times. Single bytes match in invalid UTF-8, too. */
const ENCODED_BYTE = /%(?:25)*([0-9a-f]{2})/gi;

/** More passes than a nested encoding needs; limits the work for a hostile path. */
const MAX_DECODING_PASSES = 4;

/** The characters of a path in a log line; a request line may have 8,192. */
const MAX_PATH_LENGTH = 256;

export const REQUEST = 'request';

const VALID_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Most keys and addresses, each with a status and code, that a minute tells apart. Further ones have no line. */
const MAX_SEEN = 1_000;

/**
 * Logs one line for each response, without headers, query and body, because these may contain secrets.
 *
 * Requests that no window admits have no bound, so their log has one: each minute the first request of a key or address
 * has a line. Each code of a 429 and each other status of a route is separate. The metrics count the others.
 */
export class RequestLog extends LogController {
  /** The requests that no window has admitted in this minute. */
  private readonly seen = new Set<string>();
  private minute = 0;

  constructor(private readonly clock: Clock) {
    super();
  }

  /** Logs nothing yet: the line needs the response, and the error filter logs failures. */
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const isBounded = request.rateLimit?.verdict === 'admitted' || request.raw[COUNTED];
    if (!isBounded && this.isRepeated(request, reply)) return;
    const line = {
      method: request.method,
      ...pathFacts(request.originalUrl),
      route: routeOf(request),
      status: reply.statusCode,
      code: request.errorCode,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      ip: request.ip,
      ...request.logFacts,
    };
    if (error) request.log.warn({ ...line, err: error }, 'the response was not delivered');
    else request.log.info(line, REQUEST);
  }

  /** True if the minute has a line for such a request. */
  private isRepeated(request: FastifyRequest, { statusCode }: FastifyReply): boolean {
    const minute = Math.floor(this.clock.now() / MINUTE_MS);
    if (minute !== this.minute) this.seen.clear();
    this.minute = minute;
    const owner = request.principal?.keyId ?? normalizeIp(request.ip);
    const kind = request.rateLimit ? request.errorCode : routeOf(request);
    const name = `${owner} ${statusCode} ${kind}`;
    if (this.seen.has(name) || this.seen.size >= MAX_SEEN) return true;
    this.seen.add(name);
    return false;
  }
}

/**
 * Returns the path as it was sent, cut if it is long. If it contains an API key, percent-encoded or not, it is returned
 * decoded, so that the logger recognises the key and masks all of it.
 */
function pathFacts(target: string): { path: string; pathLength?: number } {
  const sent = rawPath(target);
  let decoded = sent;
  for (let pass = 0; pass < MAX_DECODING_PASSES && decoded.includes('%'); pass += 1) {
    decoded = decoded.replaceAll(ENCODED_BYTE, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  const path = decoded.includes(API_KEY_MARK) ? decoded : sent;
  if (path.length <= MAX_PATH_LENGTH) return { path };
  return { path: path.slice(0, MAX_PATH_LENGTH), pathLength: sent.length };
}

/** Returns the client's `X-Request-Id` if it is valid, else a new id. Log lines and responses contain it. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && VALID_ID.test(sent) ? sent : randomUUID();
}

/** Returns the path of the route as it was declared; undefined if the address or the method has no operation. */
export function routeOf({ routeOptions }: FastifyRequest): string | undefined {
  return routeOptions.config.unrouted ? undefined : routeOptions.url;
}
