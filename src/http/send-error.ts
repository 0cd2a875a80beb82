import type { FastifyReply } from 'fastify';
import { type ApiError, JSON_TYPE } from '../api/errors/api-error';
import { BEARER_CHALLENGE } from '../api/errors/common.errors';

/** Sends an error. Hooks, which run before every filter, call it themselves. */
export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  const status = error.getStatus();
  reply.request.errorCode = error.code;
  reply.code(status).headers(error.headers).type(JSON_TYPE);
  // RFC 9110, 15.5.2.
  if (status === 401 && !reply.hasHeader('WWW-Authenticate'))
    reply.header('WWW-Authenticate', BEARER_CHALLENGE);
  return reply.send(error.body);
}
