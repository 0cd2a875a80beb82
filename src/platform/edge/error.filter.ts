import { validateHeaderValue } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendError } from '../errors/error-reply';
import { toApiError } from './to-api-error';

/** Converts every thrown value into the Error body, and logs the cause of 500 and 503. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const known = toApiError(error);
    if (known.status === 500) request.log.error({ err: error }, 'request failed');
    else if (known.status === 503) request.log.warn({ err: error }, 'request failed: dependency unavailable');
    if (reply.sent) return;
    if (known.status === 500) removeInvalidHeaders(reply);
    sendError(reply, known);
  }
}

/** A header that Node.js rejects, such as one with a line break from the input, would make this response fail, too. */
function removeInvalidHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    try {
      for (const each of [value].flat()) validateHeaderValue(name, String(each));
    } catch {
      reply.removeHeader(name);
    }
  }
}
