import { STATUS_CODES } from 'node:http';
import type { HttpException } from '@nestjs/common';
import { ApiError, codeOfStatus, isClientError } from './api-error';
import { MAX_MESSAGE_LENGTH } from './error.schemas';
import { BEARER_CHALLENGE, platformErrors } from './platform.errors';

/** Keeps status and message of a module's exception if it is a client error; else it is an internal error. */
export function fromNestException(exception: HttpException): ApiError {
  const status = exception.getStatus();
  if (!isClientError(status)) return platformErrors.internal_error();
  const known = codeOfStatus(status);
  // The OpenAPI document counts code points, which are one or two UTF-16 units.
  const characters = Array.from(messageOf(exception).slice(0, 2 * MAX_MESSAGE_LENGTH));
  const message = characters.slice(0, MAX_MESSAGE_LENGTH).join('');
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
  const messages = [isBody ? response.message : response].flat().filter((each) => typeof each === 'string');
  return messages.length > 0 ? messages.join('; ') : exception.message;
}
