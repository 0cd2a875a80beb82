import type {
  HeaderObject,
  HeadersObject,
  OpenAPIObject,
  OperationObject,
  ResponseObject,
  ResponsesObject,
} from '@nestjs/swagger';
import { UserError } from '../../platform/errors/user-error';
import { findOperation, ownHeaders } from '../../platform/api-docs/operations';
import { IF_NONE_MATCH_HEADER } from '../../platform/api-docs/request-headers';
import { type Codes, rejectedCodes } from './codes';
import { errorResponseObject, isSharedByOperations, sharedName, sharedReference } from './error-responses';
import { headersOf, type OwnHeader } from './headers';
import { operationsOf } from './operations-of';

const REVALIDATED: HeaderObject = {
  description: 'The client may store the response for itself, and must ask each time whether it is current.',
  required: true,
  schema: { type: 'string', enum: ['private, no-cache'] },
  example: 'private, no-cache',
};

const DEPRECATION_HEADERS: readonly OwnHeader[] = [
  { name: 'Link' },
  { name: 'Deprecation' },
  { name: 'Sunset' },
];

/**
 * Gives every operation each of its statuses, with codes, headers and examples.
 *
 * @param codes all codes of the document
 * @returns the responses that operations share, by the name under which they refer to them
 * @throws UserError if two operations have one id
 */
export function completeOperations(
  paths: OpenAPIObject['paths'],
  codes: Codes,
): Record<string, ResponseObject> {
  const shared: Record<string, ResponseObject> = {};
  const operations = operationsOf(paths);
  requireUniqueIds(operations);
  const reads = new Set(Object.values(paths).map(({ get }) => get));
  for (const operation of operations) {
    const facts = findOperation(operation.operationId);
    if (facts?.deprecation) operation.deprecated = true;
    const extra = facts?.deprecation ? DEPRECATION_HEADERS : [];
    const own = [...(facts ? ownHeaders(facts).map((name) => ({ name })) : []), ...extra];
    completeSuccess(operation, own);
    if (facts && !facts.untagged && reads.has(operation)) addNotModified(operation, own);
    for (const group of rejectionsOf(operation, codes)) {
      const isShared = extra.length === 0 && isSharedByOperations(group, codes);
      addRejection(
        operation.responses,
        errorResponseObject(group, extra),
        group,
        isShared ? shared : undefined,
      );
    }
    moveToEnd(operation, ['security', 'parameters', 'requestBody', 'responses']);
  }
  return shared;
}

/** The facts of an operation are found by its id. */
function requireUniqueIds(operations: readonly OperationObject[]): void {
  const ids = operations.map(({ operationId }) => operationId);
  const repeated = ids.find((id, index) => id !== undefined && ids.indexOf(id) < index);
  if (repeated !== undefined) {
    throw new UserError(`Two operations have the id ${repeated}: rename one of them.`);
  }
}

/** Puts the members that say what the operation is before the long ones. */
function moveToEnd(operation: object, names: readonly string[]): void {
  for (const name of names) {
    const value: unknown = Reflect.get(operation, name);
    Reflect.deleteProperty(operation, name);
    if (value !== undefined) Reflect.set(operation, name, value);
  }
}

function completeSuccess({ responses }: OperationObject, own: readonly OwnHeader[]): void {
  for (const [status, response] of Object.entries(responses)) {
    if (!response || '$ref' in response) continue;
    response.headers = status === '200' ? revalidated(headersOf(own)) : headersOf(own);
  }
}

/** Replaces `Cache-Control` by that of a response with an entity tag. */
function revalidated(headers: HeadersObject): HeadersObject {
  if (!('ETag' in headers)) return headers;
  return { ...headers, 'Cache-Control': REVALIDATED };
}

/** A 304 has the headers of the 200 (RFC 9110, 15.4.5). */
function addNotModified(operation: OperationObject, headers: readonly OwnHeader[]): void {
  operation.parameters = [...(operation.parameters ?? []), { in: 'header', ...IF_NONE_MATCH_HEADER }];
  operation.responses[304] = {
    description: 'The response with this `ETag` is current: the client uses the one that it has.',
    headers: revalidated(headersOf(headers)),
  };
}

/** Lists the codes of an operation's error responses, in one group for each status. */
function rejectionsOf(operation: OperationObject, all: Codes): Codes[] {
  const codes = rejectedCodes(operation, all);
  const statuses = [...new Set(codes.map(({ status }) => status))];
  return statuses.map((status) => codes.filter((each) => each.status === status));
}

/** @param shared the components, if the response is one of them */
function addRejection(
  responses: ResponsesObject,
  response: ResponseObject,
  [first]: Codes,
  shared: Record<string, ResponseObject> | undefined,
): void {
  const status = first?.status ?? 0;
  if (shared) shared[sharedName(status)] = response;
  responses[status] = shared ? sharedReference(status) : response;
}
