import { STATUS_CODES } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ApiError } from './api-error';

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the Error body that it was answered with. */
    errorCode?: string;
  }
}

/** The Content-Type of every answer of the API. Fastify sends a text of this type as it stands. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The Error body of an ApiError as JSON: exactly code, message and status. */
export function errorBody({ code, message, status }: ApiError): string {
  return JSON.stringify({ code, message, status });
}

/** Answers with the Error body. The one way in which door and filter refuse. */
export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  reply.request.errorCode = error.code;
  return reply.code(error.status).headers(error.headers).type(JSON_TYPE).send(errorBody(error));
}

/**
 * A whole HTTP/1.1 response with the Error body, for a socket on which no request was understood.
 * It asks to close the connection: after broken framing nothing on it can be trusted (RFC 9112, 11.2).
 */
export function errorResponse(error: ApiError, headers: Readonly<Record<string, string>>): string {
  const body = errorBody(error);
  const lines = Object.entries({
    ...headers,
    ...error.headers,
    'Content-Type': JSON_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`;
}
