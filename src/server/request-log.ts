import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { normalizeIp } from '@nestjs/throttler';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { API_KEY_MARK, type Logger } from '../platform/logging/logger';
import type { Clock } from '../platform/runtime/clock';
import { MINUTE_MS } from '../platform/runtime/time';
import { COUNTED } from '../platform/routes/request-context';
import { rawPath } from './target';

/** One percent-encoded byte, encoded any number of times. Single bytes match in invalid UTF-8, too. */
const ENCODED_BYTE = /%(?:25)*([0-9a-f]{2})/gi;

/** More passes than a nested encoding needs; limits the work for a hostile path. */
const MAX_DECODING_PASSES = 4;

/** The characters of a path in a log line; a request line may have 8,192. */
const MAX_PATH_LENGTH = 256;

const VALID_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** How often the sums of ended minutes are written. */
const SUM_INTERVAL_MS = 1_000;

/** Most sums at a time; further keys and addresses share one. */
const MAX_SUMS = 1_000;
const OTHERS = 'others';

/** The requests of a key or address within a minute, without the first, which has a line of its own. */
interface Sum {
  readonly beganAt: number;
  readonly facts: Readonly<Record<string, unknown>>;
  requests: number;
}

/**
 * Logs one line for each response. The line has no header, query or body, because these may contain secrets.
 *
 * Requests that no window admits have no bound, so their log has one. Each minute the first request of a key or address
 * has a line, and one line has the number of the others. Each code of a 429, and each other status of a route, has its own
 * two lines.
 */
export class RequestLog extends LogController {
  private readonly sums = new Map<string, Sum>();

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {
    super();
  }

  /** Writes each sum when its minute has ended, and the last ones after the last response. */
  writeSums(fastify: FastifyInstance): void {
    const timer = setInterval(() => {
      for (const [name, sum] of this.sums) if (!this.isRunning(sum)) this.close(name, sum);
    }, SUM_INTERVAL_MS).unref();
    fastify.addHook('onClose', (_instance, done) => {
      clearInterval(timer);
      for (const [name, sum] of this.sums) this.close(name, sum);
      done();
    });
  }

  /** Logs nothing yet: the line needs the response, and the error filter logs failures. */
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const isHealthy = request.routeOptions.config.probe && reply.statusCode === 200;
    const isBounded = request.rateLimit?.verdict === 'admitted' || request.raw[COUNTED];
    if (!isHealthy && !isBounded && this.isSummed(request, reply)) return;
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
    else if (isHealthy) request.log.debug(line, 'request');
    else request.log.info(line, 'request');
  }

  /** Counts a request, and returns false if it needs a line of its own. */
  private isSummed(request: FastifyRequest, { statusCode: status }: FastifyReply): boolean {
    const { principal, ip } = request;
    const kind = request.rateLimit ? { code: request.errorCode } : { route: routeOf(request) };
    const owned = [principal?.keyId ?? normalizeIp(ip), status, ...Object.values(kind)].join(' ');
    const isKnown = this.sums.has(owned) || this.sums.size < MAX_SUMS;
    const name = isKnown ? owned : OTHERS;
    const sum = this.sums.get(name);
    if (sum && this.isRunning(sum)) {
      sum.requests += 1;
      return true;
    }
    if (sum) this.close(name, sum);
    const facts = isKnown
      ? { status, ...kind, ...(principal ? request.logFacts : { ip }) }
      : { owners: OTHERS };
    this.sums.set(name, { beganAt: this.clock.now(), facts, requests: 0 });
    return false;
  }

  /** True for a minute. A clock that was set back to a time before the beginning ends it, too. */
  private isRunning({ beganAt }: Sum): boolean {
    const passed = this.clock.now() - beganAt;
    return passed >= 0 && passed < MINUTE_MS;
  }

  private close(name: string, { facts, requests }: Sum): void {
    this.sums.delete(name);
    if (requests > 0) this.logger.info({ ...facts, requests }, 'further requests');
  }
}

/** Returns the path of a line. A long path is cut after its keys were made recognisable; its sent length is added. */
export function pathFacts(target: string): { path: string; pathLength?: number } {
  const sent = rawPath(target);
  const path = loggablePath(sent);
  if (path.length <= MAX_PATH_LENGTH) return { path };
  return { path: path.slice(0, MAX_PATH_LENGTH), pathLength: sent.length };
}

/**
 * Returns the path as it was sent. If it contains an API key, percent-encoded or not, it is returned decoded, so that
 * the logger recognises the key and masks all of it.
 */
function loggablePath(path: string): string {
  let decoded = path;
  for (let pass = 0; pass < MAX_DECODING_PASSES && decoded.includes('%'); pass += 1) {
    decoded = decoded.replaceAll(ENCODED_BYTE, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  return decoded.includes(API_KEY_MARK) ? decoded : path;
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
