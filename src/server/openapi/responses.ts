import { STATUS_CODES } from 'node:http';
import type { HeaderObject, OpenAPIObject, OperationObject, ResponseObject } from '@nestjs/swagger';
import { commonHeaders, responseHeaders } from '../../platform/api-docs/header-catalogue';
import { findOperation, ownHeaders, taggedWithout } from '../../platform/api-docs/operation.decorator';
import { IF_NONE_MATCH_HEADER } from '../../platform/entity-tags/entity-tag';
import type { DefinedError } from '../../platform/errors/define-errors';
import { platformCodes } from '../../platform/errors/platform.errors';
import { SECOND_MS } from '../../platform/runtime/time';
import { type Codes, operationsOf, rejectedCodes } from './codes';

/** Every header as a component, which the responses refer to. */
const HEADERS: Readonly<Record<string, HeaderObject>> = Object.fromEntries(
  responseHeaders.map(({ name, description, schema, example, isOptional }) => [
    name,
    { description, required: isOptional !== true, schema: { ...schema }, example },
  ]),
);

/**
 * Written in lower case in the responses: the linter with the OWASP rules accepts only one family of rate limit headers
 * and would reject these next to `X-RateLimit-*`. Header names are case-insensitive (RFC 9110, 5.1).
 */
const EXPERIMENTAL = new Set(['RateLimit', 'RateLimit-Policy']);

/** `Location` of a resource that a text may identify. */
const LOCATION_OF_TEXT = {
  ...HEADERS['Location'],
  required: true,
  schema: { type: 'string', format: 'uri-reference', maxLength: 8_192 },
  example: '/v1/accounts/acme',
};

/** `Cache-Control` of a response with an entity tag. */
const REVALIDATED: HeaderObject = {
  description: 'The client may store the response for itself, and must ask each time whether it is current.',
  required: true,
  schema: { type: 'string', enum: ['private, no-cache'] },
  example: 'private, no-cache',
};

/**
 * Gives every operation each of its statuses, with codes, headers and examples.
 *
 * @param codes all codes of the document
 * @returns the parts that the operations refer to
 */
export function completeResponses(paths: OpenAPIObject['paths'], codes: Codes) {
  const operations = operationsOf(paths);
  const reads = new Set(Object.values(paths).map(({ get }) => get));
  const responses: Record<string, ResponseObject> = {};
  const used = new Set(operations.flatMap((operation) => rejectedCodes(operation, codes)));
  const shared = codes.filter((code) => used.has(code));
  const examples = Object.fromEntries(shared.map((code) => [code.code, exampleOf(code)]));
  for (const operation of operations) complete(operation, reads.has(operation), codes, responses);
  return { responses, headers: HEADERS, examples };
}

/**
 * @param operation `x-throttle` has the windows of `@Throttle`, with their length in milliseconds
 * @param shared gets the responses that operations share, by name
 */
function complete(
  operation: OperationObject & { readonly 'x-throttle'?: readonly { limit: number; ttl: number }[] },
  isRead: boolean,
  codes: Codes,
  shared: Record<string, ResponseObject>,
): void {
  const { operationId, parameters = [], responses, 'x-throttle': windows = [] } = operation;
  for (const { limit, ttl } of windows)
    operation.description += `\n\nAn account may call it at most ${limit} times in ${ttl / SECOND_MS} s.`;
  const facts = findOperation(operationId);
  const deprecation = facts?.deprecation ? ['Link', 'Deprecation', 'Sunset'] : [];
  if (facts?.deprecation) operation.deprecated = true;
  const headers = headersOf([...(facts ? ownHeaders(facts) : []), ...deprecation]);
  // The id of the created resource is a text.
  if (facts?.location) headers['Location'] = LOCATION_OF_TEXT;
  const isRevalidated = facts && 'ETag' in headers && taggedWithout(facts)?.length === 0;
  const current = isRevalidated ? { ...headers, 'Cache-Control': REVALIDATED } : headers;
  for (const [status, response] of Object.entries(responses)) {
    if (response && !('$ref' in response)) response.headers = status === '200' ? current : headers;
  }
  if (isRevalidated && isRead) {
    operation.parameters = [...parameters, { in: 'header', ...IF_NONE_MATCH_HEADER }];
    // It has the headers of the 200 (RFC 9110, 15.4.5).
    const description = 'The response with this `ETag` is current: the client uses the one that it has.';
    responses[304] = { description, headers: current };
  }
  const rejected = rejectedCodes(operation, codes);
  for (const status of new Set(rejected.map((code) => code.status))) {
    const group = rejected.filter((code) => code.status === status);
    const response = errorResponse(group, deprecation, codes);
    const isShared = deprecation.length === 0 && isCommon(group, codes);
    const name = (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
    if (isShared) shared[name] = response;
    responses[status] = isShared ? { $ref: `#/components/responses/${name}` } : response;
  }
  // After the members that say what the operation is.
  const marks = Object.keys(operation).filter((name) => name.startsWith('x-'));
  for (const name of ['tags', ...marks, 'deprecated', 'security', 'parameters', 'requestBody', 'responses']) {
    const value: unknown = Reflect.get(operation, name);
    Reflect.deleteProperty(operation, name);
    if (value !== undefined) Object.assign(operation, { [name]: value });
  }
}

/** True for the codes of a status of every operation without codes of its own. @param all the codes of the document */
function isCommon(codes: Codes, all: Codes): boolean {
  const common = all.filter((code) => typeof code.on === 'string' || platformCodes.includes(code));
  const ofStatus = common.filter(({ status }) => status === codes[0]?.status);
  return codes.length === ofStatus.length && ofStatus.every((code) => code.on && codes.includes(code));
}

/**
 * Describes the response of one status.
 *
 * @param more the names of further headers
 * @param all the codes of the document, whose examples are components; another code has its own
 */
function errorResponse(codes: Codes, more: readonly string[], all: Codes): ResponseObject {
  const own = [...new Set(codes.flatMap(({ header }) => header ?? []))];
  const isAlways = own.length === 1 && codes.every(({ header }) => header);
  const headers = isAlways ? headersOf([...own, ...more]) : headersOf(more, own);
  if (own.includes('Location')) headers['Location'] = { ...LOCATION_OF_TEXT, required: false };
  const examples = codes.map((code) => [
    code.code,
    all.includes(code) ? { $ref: `#/components/examples/${code.code}` } : exampleOf(code),
  ]);
  const schema = { $ref: '#/components/schemas/Error' };
  return {
    description: listOf(codes),
    headers,
    content: { 'application/json': { schema, examples: Object.fromEntries(examples) } },
  };
}

export function listOf(codes: Codes): string {
  return codes.map(({ code, when }) => `- \`${code}\`: ${when}.`).join('\n');
}

function exampleOf({ code, status, example: message, when }: DefinedError): object {
  return { summary: sentence(when), value: { code, message, status } };
}

/** Makes `when` of a code plain text that begins with a capital letter. */
function sentence(when: string): string {
  const plain = when.replaceAll('`', '');
  return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}`;
}

/**
 * Lists the headers of a response, its own and the common ones, in the order of the catalogue.
 *
 * @param optional the names of those that only some responses of the status have
 */
function headersOf(own: readonly string[], optional: readonly string[] = []) {
  const entries = Object.entries(HEADERS).flatMap(([name, header]) => {
    const isOptional = optional.includes(name);
    if (!isOptional && !own.includes(name) && !commonHeaders.includes(name)) return [];
    const entry = isOptional ? { ...header, required: false } : { $ref: `#/components/headers/${name}` };
    return [[EXPERIMENTAL.has(name) ? name.toLowerCase() : name, entry] as const];
  });
  return Object.fromEntries(entries);
}
