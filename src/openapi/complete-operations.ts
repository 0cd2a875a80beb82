import type { OpenAPIObject, OperationObject, ResponseObject, ResponsesObject } from '@nestjs/swagger';
import { errorCodes } from '../errors/error-codes';
import { SUNSET_EXTENSION } from '../http/deprecated.decorator';
import { takeNotes } from '../http/operation-notes';
import { type Codes, errorResponse, isShared, sharedName, sharedReference } from './error-responses';
import { headersOf, type OwnHeader } from './headers';

const DEPRECATION_HEADERS: readonly OwnHeader[] = [
  { name: 'Link' },
  { name: 'Deprecation' },
  { name: 'Sunset' },
];

/**
 * Gives every operation each status that it can answer, with the codes, headers and examples of it.
 *
 * @returns the responses that operations share, by the name under which they refer to them
 */
export function completeOperations(paths: OpenAPIObject['paths']): Record<string, ResponseObject> {
  const shared: Record<string, ResponseObject> = {};
  for (const operation of operationsOf(paths)) {
    describeScope(operation);
    if (SUNSET_EXTENSION in operation) operation.deprecated = true;
    const also = operation.deprecated === true ? DEPRECATION_HEADERS : [];
    completeSuccess(operation, also);
    for (const codes of refusalsOf(operation)) addRefusal(operation.responses, codes, also, shared);
    moveToEnd(operation, ['security', 'parameters', 'requestBody', 'responses']);
  }
  return shared;
}

function operationsOf(paths: OpenAPIObject['paths']): OperationObject[] {
  return Object.values(paths).flatMap(({ get, post, put, patch, delete: remove }) =>
    [get, post, put, patch, remove].filter((operation) => operation !== undefined),
  );
}

/** The order in which a person reads: first what the operation is. */
function moveToEnd(operation: object, names: readonly string[]): void {
  for (const name of names) {
    const value: unknown = Reflect.get(operation, name);
    Reflect.deleteProperty(operation, name);
    if (value !== undefined) Reflect.set(operation, name, value);
  }
}

function describeScope(operation: OperationObject): void {
  const [scope] = takeNotes(operation, 'scope');
  if (scope === undefined) return;
  operation.description = `${operation.description ?? ''}\n\nThe key needs the scope \`${scope}\`.`;
}

function completeSuccess(operation: OperationObject, also: readonly OwnHeader[]): void {
  const own = [...takeNotes(operation, 'header')].map((name) => ({ name }));
  for (const response of Object.values(operation.responses)) {
    if (response && !('$ref' in response)) response.headers = headersOf([...own, ...also]);
  }
}

/** The codes that an operation can be refused with, in one group for each status. */
function refusalsOf(operation: OperationObject): Codes[] {
  const named = takeNotes(operation, 'code');
  const codes = errorCodes.filter(
    ({ code, on }) =>
      named.has(code) || on === 'every operation' || (on === 'every body' && operation.requestBody),
  );
  const statuses = [...new Set(codes.map(({ status }) => status))];
  return statuses.map((status) => codes.filter((each) => each.status === status));
}

function addRefusal(
  responses: ResponsesObject,
  codes: Codes,
  also: readonly OwnHeader[],
  shared: Record<string, ResponseObject>,
): void {
  const [{ status } = { status: 0 }] = codes;
  const response = errorResponse(codes, also);
  if (also.length > 0 || !isShared(codes)) {
    responses[status] = response;
    return;
  }
  shared[sharedName(status)] = response;
  responses[status] = sharedReference(status);
}
