import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { API_KEY_MARK } from '../logging/logger';
import { rawPath } from '../http/target';

/** One percent-encoded byte, encoded any number of times. Single bytes match in invalid UTF-8, too. */
const ENCODED_BYTE = /%(?:25)*([0-9a-f]{2})/gi;

/** More passes than a nested encoding needs; limits the work for a hostile path. */
const MAX_DECODING_PASSES = 4;

/** The characters of a path in a log line; a request line may have 8,192. */
const MAX_PATH_LENGTH = 256;

const VALID_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Logs one line for each response. The line has no header, query or body, because these may contain secrets. */
export class RequestLog extends LogController {
  /** Logs nothing yet: the line needs the response, and the error filter logs failures. */
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    if (request.isLoggedInSum) return;
    const line = {
      method: request.method,
      ...pathFacts(request.originalUrl),
      route: routeOf(request),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      ip: request.ip,
      ...request.logFacts,
    };
    if (error) request.log.warn({ ...line, err: error }, 'the response was not delivered');
    else if (request.routeOptions.config.probe && reply.statusCode === 200)
      request.log.debug(line, 'request');
    else request.log.info(line, 'request');
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
