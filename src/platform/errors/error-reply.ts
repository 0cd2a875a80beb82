import { STATUS_CODES } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ApiError } from './api-error';

/** The Content-Type of every response of the API. Fastify sends a string of this type unchanged. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends the Error body. Request checks and the error filter use only this function. */
export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  reply.request.errorCode = error.code;
  return reply.code(error.status).headers(error.headers).type(JSON_TYPE).send(error.body);
}

/**
 * Prints a whole HTTP/1.1 response with the Error body, for a socket without a valid request. It closes the connection,
 * because bytes after invalid framing cannot be trusted (RFC 9112, 11.2).
 */
export function errorResponse(error: ApiError, headers: Readonly<Record<string, string>>): string {
  const { body } = error;
  const lines = Object.entries({
    ...headers,
    ...error.headers,
    'Content-Type': JSON_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`;
}
