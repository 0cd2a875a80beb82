import { STATUS_CODES } from 'node:http';
import type { OpenAPIObject, OperationObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { COMPONENT_HEADERS, headersOf, LOCATION_OF_TEXT, text } from '../operation/header-catalogue';
import { findOperation, isRevalidated } from '../operation/operation.decorator';
import { ANY_KEY } from '../routes/route-facts';
import { type DefinedError, MAX_MESSAGE_LENGTH } from '../errors/api-error';
import { commonCodes, commonErrors, defaultCodes } from '../errors/common.errors';
import { UserError } from '../../config/user-error';

/** The error codes in the order of the document: by status, the modules' codes before the common ones. */
export type Codes = readonly DefinedError[];

const CODE = text(64, '^[a-z]+(_[a-z]+)*$', { minLength: 1 });

/** The body of every error (docs/specification.md), which no handler names. */
export const ERROR_SCHEMA: SchemaObject = {
  type: 'object',
  properties: {
    code: {
      ...CODE,
      example: 'validation_failed',
      description:
        'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
    },
    message: {
      ...text(MAX_MESSAGE_LENGTH, String.raw`\S`, { minLength: 1 }),
      example: 'categoryId must be an integer.',
      description: 'Human-readable description of what to fix. Its wording may change.',
    },
    status: {
      type: 'integer',
      format: 'int32',
      minimum: 400,
      maximum: 599,
      description: 'The HTTP status code.',
      example: 400,
    },
  },
  description: 'The body of every error response.',
  required: ['code', 'message', 'status'],
};

export function operationsOf(paths: OpenAPIObject['paths']): OperationObject[] {
  return Object.values(paths).flatMap(({ get, post, put, patch, delete: remove }) =>
    [get, post, put, patch, remove].filter((operation) => operation !== undefined),
  );
}

/**
 * Lists the common codes, and those that the operations of a document name in `rejects`.
 *
 * @param added the codes of extensions, which every operation can return unless `on` names some
 * @throws UserError if a code has two definitions
 */
export function codesOf(paths: OpenAPIObject['paths'], added: Codes = []): Codes {
  const operations = operationsOf(paths).map(({ operationId }) => findOperation(operationId));
  const named = operations.flatMap((operation) => operation?.rejects ?? []);
  const modules = named.filter((code) => !commonCodes.includes(code));
  const everywhere = added.map((code) => ({ on: 'every operation' as const, ...code }));
  const codes = new Map<string, DefinedError>();
  for (const each of [...modules, ...everywhere, ...commonCodes]) {
    const { code, status, when } = each;
    const other = codes.get(code) ?? each;
    if (status !== other.status || when !== other.when) {
      const place = operations.find((operation) => operation?.rejects.includes(each));
      throw new UserError(
        `The error code ${code}${place ? ` of ${place.id}` : ''} has two definitions, if ${other.when} (${other.status}) and if ${when} (${status}): rename one of them.`,
      );
    }
    codes.set(code, each);
  }
  return [...codes.values()].sort((one, other) => one.status - other.status);
}

/** Lists the codes that an operation can return. @param all the codes of the document */
function rejectedCodes({ operationId = '', requestBody }: OperationObject, all: Codes): Codes {
  const { rejects = [], scope, uncounted } = findOperation(operationId) ?? {};
  const own: Codes = [
    ...rejects,
    ...(requestBody ? [commonErrors.malformed_json] : []),
    ...(scope === ANY_KEY ? [] : [commonErrors.insufficient_scope]),
    ...(uncounted ? [] : [commonErrors.daily_quota_exceeded, commonErrors.api_key_banned]),
  ];
  const names = new Set(own.map(({ code }) => code));
  return all.filter(
    ({ code, on = [] }) => names.has(code) || typeof on === 'string' || on.includes(operationId),
  );
}

const DEFAULT: ResponseObject = {
  ...errorResponse(defaultCodes),
  description: `An error that any request can get: ${defaultCodes.map(({ status }) => status).join(', ')}. The description of the API lists its codes.`,
};

/** It has the headers of the 200 (RFC 9110, 15.4.5). */
const NOT_MODIFIED: ResponseObject = {
  description: 'The response with this `ETag` is current: the client uses the one that it has.',
  headers: headersOf(['ETag', 'Link', 'Cache-Control']),
};

const refer = (name: string) => ({ $ref: `#/components/responses/${name}` });

/**
 * Gives every operation a response for each status of its own codes, `default` for those of any request, and 304 if it
 * is a conditional read.
 *
 * @param codes all codes of the document
 * @returns the components that the operations refer to
 */
export function completeResponses(paths: OpenAPIObject['paths'], codes: Codes) {
  const shared: Record<string, ResponseObject> = { Default: DEFAULT, NotModified: NOT_MODIFIED };
  for (const { get } of Object.values(paths)) {
    const facts = findOperation(get?.operationId);
    if (!get || !facts || !isRevalidated(facts)) continue;
    get.parameters = [...(get.parameters ?? []), { $ref: '#/components/parameters/IfNoneMatch' }];
    get.responses[304] = refer('NotModified');
  }
  for (const operation of operationsOf(paths)) {
    const { responses } = operation;
    const rejected = rejectedCodes(operation, codes);
    for (const { status } of rejected.filter((code) => !defaultCodes.includes(code))) {
      const group = rejected.filter((code) => code.status === status);
      const name = nameOf(status, group);
      shared[name] ??= errorResponse(group);
      responses[status] = refer(name);
    }
    responses.default = refer('Default');
    // The OWASP rules of linters require a 500.
    responses[500] ??= responses.default;
  }
  return shared;
}

/** Names the response of a status by the codes that not every operation has: `NotFound-pet_not_found`. */
function nameOf(status: number, codes: Codes): string {
  const reason = (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
  const own = codes.filter(({ on }) => typeof on !== 'string').map(({ code }) => code);
  return [reason, ...own].join('-');
}

function errorResponse(codes: Codes): ResponseObject {
  const names = [...new Set(codes.flatMap(({ header }) => header ?? []))];
  const isAlways = codes.every(({ header }) => header === names[0]);
  const documented: typeof COMPONENT_HEADERS = { ...COMPONENT_HEADERS, Location: LOCATION_OF_TEXT };
  const optional = names.map((name) => [name, { ...documented[name], required: false }]);
  const headers = isAlways ? headersOf(names) : { ...Object.fromEntries(optional), ...headersOf([]) };
  return {
    description: codes.map(({ code, when }) => `- \`${code}\`: ${when}.`).join('\n'),
    headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}
