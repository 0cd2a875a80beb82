import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { rawPath } from './target';

declare module 'fastify' {
  interface FastifyRequest {
    /** What a feature adds to the log line of its request. */
    logFacts?: Readonly<Record<string, unknown>>;
  }
}

/** One line per answered request: no header, no query and no body, where secrets could be. */
export class RequestLog extends LogController {
  /** The line is written when the answer is known; the filter logs what failed. */
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const line = {
      method: request.method,
      path: rawPath(request.originalUrl),
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
