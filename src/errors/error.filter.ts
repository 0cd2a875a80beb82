import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendError } from './error-reply';
import { toApiError } from './to-api-error';

/** Turns everything that a handler throws into the Error body, and logs what was not foreseen. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const known = toApiError(error);
    if (known.status === 500) request.log.error({ err: error }, 'request failed');
    else if (known.status === 503) request.log.warn({ err: error }, 'request refused: a part is away');
    if (reply.sent) return;
    sendError(reply, known);
  }
}
