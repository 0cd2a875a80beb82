import { STATUS_CODES } from 'node:http';
import type { HttpException } from '@nestjs/common';
import { ApiError } from '../errors/api-error';
import { MAX_MESSAGE_LENGTH } from '../errors/error.dto';
import { BEARER_CHALLENGE, internalError } from '../errors/http.errors';
import { codeOfStatus, isClientError } from '../errors/status-codes';

/** Keeps status and message of a module's exception if it is a client error; else it is an internal error. */
export function fromNestException(exception: HttpException): ApiError {
  const status = exception.getStatus();
  if (!isClientError(status)) return internalError();
  const known = codeOfStatus(status);
  const message = cut(messageOf(exception));
  return new ApiError(known, {
    message: message.trim() === '' ? known.message : message,
    headers: status === 401 ? { 'WWW-Authenticate': BEARER_CHALLENGE } : {},
  });
}

/** Returns the message of the body that Nest would send; a list of messages is joined. */
function messageOf(exception: HttpException): string {
  const response: unknown = exception.getResponse();
  // Nest, too, does not show the text of a wrapped error to the client.
  if (response instanceof Error) return STATUS_CODES[exception.getStatus()] ?? '';
  const isBody = typeof response === 'object' && response !== null && 'message' in response;
  const messages = [isBody ? response.message : response].flat().filter(isText);
  return messages.length > 0 ? messages.join('; ') : exception.message;
}

function isText(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Cuts a message. The OpenAPI document counts code points, which are one or two UTF-16 units. */
function cut(message: string): string {
  return Array.from(message.slice(0, 2 * MAX_MESSAGE_LENGTH))
    .slice(0, MAX_MESSAGE_LENGTH)
    .join('');
}
