import { STATUS_CODES } from 'node:http';
import type { HttpException } from '@nestjs/common';
import { ApiError } from './api-error';
import { MAX_MESSAGE_LENGTH } from './error.dto';
import { BEARER_CHALLENGE, internalError } from './http.errors';
import { codeOfStatus, isClientError } from './status-codes';

/** Keeps status and message of a module's exception if it is a client error; any other is a fault of the module. */
export function fromNestException(exception: HttpException): ApiError {
  const status = exception.getStatus();
  if (!isClientError(status)) return internalError();
  const known = codeOfStatus(status);
  const message = bounded(messageOf(exception));
  return new ApiError(known, {
    message: message.trim() === '' ? known.message : message,
    headers: status === 401 ? { 'WWW-Authenticate': BEARER_CHALLENGE } : {},
  });
}

/** The message in the body that Nest would send, a list of them joined. */
function messageOf(exception: HttpException): string {
  const response: unknown = exception.getResponse();
  // Nest keeps the text of another error from the client.
  if (response instanceof Error) return STATUS_CODES[exception.getStatus()] ?? '';
  const isBody = typeof response === 'object' && response !== null && 'message' in response;
  const messages = [isBody ? response.message : response].flat().filter(isText);
  return messages.length > 0 ? messages.join('; ') : exception.message;
}

function isText(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Lengths in the OpenAPI document count code points, which are one or two UTF-16 units. */
function bounded(message: string): string {
  return Array.from(message.slice(0, 2 * MAX_MESSAGE_LENGTH))
    .slice(0, MAX_MESSAGE_LENGTH)
    .join('');
}
