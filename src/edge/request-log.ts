import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { API_KEY_MARK } from '../logging/logger';
import { rawPath } from './target';

/** However often it was encoded; one at a time, so that a path which is not valid UTF-8 is looked at too. */
const ENCODED_BYTE = /%(?:25)*([0-9a-f]{2})/gi;

/** Enough for encodings within encodings, and a bound for what was made to be long. */
const DECODING_PASSES = 4;

/** Characters of a path that are logged; a request line may have 8,192. */
const MAX_PATH_LENGTH = 256;

declare module 'fastify' {
  interface FastifyRequest {
    /** What a feature adds to the log line of its request. */
    logFacts?: Readonly<Record<string, unknown>>;
    /** True if the request is counted in a line about many, and has none of its own. */
    isLoggedInSum?: boolean;
  }
}

/** One line per answered request, if no feature counts it instead: no header, no query and no body, where secrets could be. */
export class RequestLog extends LogController {
  /** The line is written when the answer is known; the filter logs what failed. */
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    if (request.isLoggedInSum) return;
    const line = {
      method: request.method,
      ...pathFacts(request.originalUrl),
      route: request.routeOptions.url,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      ip: request.ip,
      ...request.logFacts,
    };
    if (error) request.log.warn({ ...line, err: error }, 'the answer was not delivered');
    else request.log.info(line, 'request');
  }
}

/** A long path is cut after its keys have become recognisable, and its length as it was sent stands beside it. */
function pathFacts(target: string): { path: string; pathLength?: number } {
  const sent = rawPath(target);
  const path = loggablePath(sent);
  if (path.length <= MAX_PATH_LENGTH) return { path };
  return { path: path.slice(0, MAX_PATH_LENGTH), pathLength: sent.length };
}

/**
 * The path as it was sent. One that spells an API key, in percent-encoding or not, is written decoded, so that the
 * logger recognises the key and masks all of it.
 */
function loggablePath(path: string): string {
  let decoded = path;
  for (let pass = 0; pass < DECODING_PASSES && decoded.includes('%'); pass += 1) {
    decoded = decoded.replaceAll(ENCODED_BYTE, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  return decoded.includes(API_KEY_MARK) ? decoded : path;
}
