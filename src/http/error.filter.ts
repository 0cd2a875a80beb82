import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { isDatabaseUnavailable, OutcomeUnknownError, RevokedKeyError } from '../database/database-errors';
import type { ApiError } from '../api/errors/api-error';
import { commonErrors, fromNestException } from '../api/errors/common.errors';
import { RouteMethods } from './route-methods';
import { sendError } from './send-error';

/** Writes the Error body for every thrown value, and logs the cause of 500 and 503. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly methods: RouteMethods) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { request } = reply;
    // Nest throws a NotFoundException for an address without a route.
    const known = request.is404 ? this.methods.rejectionOf(request) : toApiError(error);
    const status = known.getStatus();
    if (status === 500) request.log.error({ err: error }, 'request failed');
    else if (status === 503) request.log.warn({ err: error }, 'request failed: dependency unavailable');
    if (reply.sent) return;
    if (status === 500) removeInvalidHeaders(reply);
    sendError(reply, known);
  }
}

/** Converts any thrown value into the error that the client sees. Unexpected ones get a fixed message. */
function toApiError(error: unknown): ApiError {
  if (error instanceof HttpException) return fromNestException(error);
  if (error instanceof OutcomeUnknownError) {
    return commonErrors.service_unavailable({
      message:
        'The connection to the database was lost, so this request may or may not have taken effect. Check before you retry; with an Idempotency-Key a retry is safe.',
    });
  }
  if (error instanceof RevokedKeyError) return commonErrors.revoked_api_key();
  if (isDatabaseUnavailable(error)) return commonErrors.service_unavailable();
  return commonErrors.internal_error();
}

/** A header that Node.js rejects, such as one with a line break from the input, would make this response fail, too. */
function removeInvalidHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (!/^[!#-'*+.\d^-z|~-]+$/i.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(String(value)))
      reply.removeHeader(name);
}
