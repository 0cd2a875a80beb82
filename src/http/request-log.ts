import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { COUNTED } from '../rate-limit';
import { pathOf } from './framing';
import type { Logger } from './logger';

/** The characters of a path in a log line; a request line may have 8,192. */
const MAX_PATH_LENGTH = 256;

const VALID_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Lines in a second for requests that no window admits, such as 429s: nothing else bounds them. */
const MAX_UNCOUNTED = 10;

/** Returns the options of Fastify for its log. */
export function logOptions(logger: Logger) {
  return { loggerInstance: logger, logController: new RequestLog(), genReqId: requestId };
}

/** Logs one line for each response, without headers, query and body, because these may contain secrets. */
class RequestLog extends LogController {
  private second = 0;
  private uncounted = 0;

  /** Logs nothing yet: the line needs the response, and the error filter logs failures. */
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    if (request.rateLimit?.verdict !== 'admitted' && !request.raw[COUNTED] && this.isFlooded()) return;
    const { config, url } = request.routeOptions;
    const line = {
      method: request.method,
      path: loggedPath(request.originalUrl),
      // An address or method without an operation has none.
      route: config.unrouted ? undefined : url,
      status: reply.statusCode,
      code: request.errorCode,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      ip: request.ip,
      ...request.logFacts,
    };
    if (error) request.log.warn({ ...line, err: error }, 'the response was not delivered');
    else request.log.info(line, 'request');
  }

  private isFlooded(): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.second) this.uncounted = 0;
    this.second = second;
    this.uncounted += 1;
    return this.uncounted > MAX_UNCOUNTED;
  }
}

/** Returns the path up to its first percent sign: the logger would not recognise, and mask, an encoded API key. */
function loggedPath(target: string): string {
  return pathOf(target).replace(/%.*/, '%…').slice(0, MAX_PATH_LENGTH);
}

/** Returns the client's `X-Request-Id` if it is valid, else a new id. Log lines and responses contain it. */
function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && VALID_ID.test(sent) ? sent : randomUUID();
}
