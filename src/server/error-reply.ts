import { STATUS_CODES } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ApiError } from '../platform/errors/api-error';
import { addVary, JSON_TYPE, prefersProblem, PROBLEM_TYPE } from '../platform/errors/media-types';
import { problemDetails } from '../platform/errors/problem-details';

declare module 'fastify' {
  interface FastifyInstance {
    /** The address of the pages about the codes. */
    readonly problemPages: string;
  }
}

/** The parts of a request that its error response depends on. */
interface Rejected {
  readonly accept: string | undefined;
  readonly requestId: string;
  /** The address of the pages about the codes. */
  readonly pages: string;
}

/** Sends the Error body, or problem details. Hooks and the error filter use only this function. */
export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  const { request, server } = reply;
  request.errorCode = error.code;
  addVary(reply, 'Accept');
  const { type, body } = contentOf(error, {
    accept: request.headers.accept,
    requestId: request.id,
    pages: server.problemPages,
  });
  return reply.code(error.status).headers(error.headers).type(type).send(body);
}

/**
 * Prints a whole HTTP/1.1 response with the error, for a socket without a valid request. It closes the connection,
 * because bytes after invalid framing cannot be trusted (RFC 9112, 11.2).
 */
export function errorResponse(
  error: ApiError,
  headers: Readonly<Record<string, string>>,
  rejected: Rejected,
): string {
  const { type, body } = contentOf(error, rejected);
  const lines = Object.entries({
    ...headers,
    ...error.headers,
    Vary: 'Accept',
    'Content-Type': type,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`;
}

function contentOf(error: ApiError, { accept, pages, requestId }: Rejected): { type: string; body: string } {
  if (!prefersProblem(accept)) return { type: JSON_TYPE, body: error.body };
  const problem = problemDetails(error, pages, requestId);
  return { type: PROBLEM_TYPE, body: JSON.stringify(problem) };
}
