import { STATUS_CODES } from 'node:http';
import type { OpenAPIObject, OperationObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { COMPONENT_HEADERS, headersOf, LOCATION_OF_TEXT, text } from '../operation/header-catalogue';
import { findOperation } from '../operation/operation.decorator';
import { ANY_KEY } from '../routes/route-facts';
import { type DefinedError, MAX_MESSAGE_LENGTH } from '../errors/api-error';
import { DEFAULT_STATUSES, defaultCodes, commonCodes, commonErrors } from '../errors/common.errors';
import { UserError } from '../../config/user-error';
import type { EventTypes } from '../extension/extension';

/** The error codes in the order of the document: by status, the modules' codes before the common ones. */
export type Codes = readonly DefinedError[];

const CODE = text(64, '^[a-z]+(_[a-z]+)*$', { minLength: 1 });
const CODE_FORM = new RegExp(`(?=^.{1,${CODE.maxLength}}$)${CODE.pattern}`);

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

/** The kinds of operations that `on` may name. */
const KINDS = {
  'every operation': () => true,
  'every body': ({ requestBody }: OperationObject) => requestBody !== undefined,
  'every scope': ({ operationId }: OperationObject) => findOperation(operationId)?.scope !== ANY_KEY,
  'every counted operation': ({ operationId }: OperationObject) => !findOperation(operationId)?.uncounted,
};

export function operationsOf(paths: OpenAPIObject['paths']): OperationObject[] {
  return Object.values(paths).flatMap(({ get, post, put, patch, delete: remove }) =>
    [get, post, put, patch, remove].filter((operation) => operation !== undefined),
  );
}

/**
 * Lists the common codes, and those that the operations of a document name in `rejects`.
 *
 * @param added the codes of extensions that every operation can return
 * @throws UserError if a code or its status is invalid, or a code is on an unknown operation or has two definitions
 */
export function codesOf(paths: OpenAPIObject['paths'], added: Codes = []): Codes {
  const ids = operationsOf(paths).map(({ operationId }) => operationId ?? '');
  const named = ids.flatMap((id) => findOperation(id)?.rejects ?? []);
  const modules = named.filter((code) => !commonCodes.includes(code));
  const everywhere = added.map((code) => ({ on: 'every operation' as const, ...code }));
  const codes = new Map<string, DefinedError>();
  for (const each of [...modules, ...everywhere, ...commonCodes]) {
    const mistake = mistakeIn(each, codes.get(each.code) ?? each, ids);
    codes.set(each.code, each);
    if (!mistake) continue;
    const place = ids.find((id) => findOperation(id)?.rejects.includes(each));
    throw new UserError(`The error code ${each.code}${place ? ` of ${place}` : ''} ${mistake}.`);
  }
  return [...codes.values()].sort((one, other) => one.status - other.status);
}

/**
 * Checks what no library rejects in the operations of a document and the classes of its events.
 *
 * @throws UserError if two operations or two classes have one name, or the work of an Idempotency-Key may run twice
 */
export function checkOperations(paths: OpenAPIObject['paths'], schemas: object, events: EventTypes): void {
  const owners = new Map<string, object>();
  const claim = (name: string, owner: object): void => {
    const isOther = (owners.get(name) ?? owner) !== owner;
    if (isOther) throw new UserError(`The ${name} has two definitions: rename one of them.`);
    owners.set(name, owner);
  };
  for (const { data } of Object.values(events)) claim(`class ${data.name}`, data);
  for (const operation of operationsOf(paths)) {
    claim(`operation ${operation.operationId}`, operation);
    const facts = findOperation(operation.operationId);
    const { types = [], idempotent, rejects = [], returns = [], orList = [] } = facts ?? {};
    for (const each of [returns[1] ?? [], orList, types].flat(2))
      if (each.name in schemas) claim(`class ${each.name}`, each);
    if (idempotent && !rejects.includes(commonErrors.idempotency_key_in_use))
      throw new UserError(
        `${facts?.id} has \`idempotent: true\` without @Idempotent(): add it to its handler.`,
      );
  }
}

/** @param other a definition of the same code @param ids of all operations */
function mistakeIn(
  { code, status, when, on = [] }: DefinedError,
  other: DefinedError,
  ids: readonly string[],
) {
  const known: readonly string[] = typeof on === 'string' ? Object.keys(KINDS) : ids;
  const unknown = [on].flat().find((each) => !known.includes(each));
  if (unknown !== undefined) return `is on ${unknown}, which is unknown: use one of ${known.join(', ')}`;
  if (!CODE_FORM.test(code)) return 'is invalid: use words of a to z joined by "_", at most 64 characters';
  if (!/^[45]\d\d$/.test(String(status))) return `has the status ${status}: use one from 400 to 599`;
  if (status === other.status && when === other.when) return undefined;
  return `has two definitions, if ${other.when} (${other.status}) and if ${when} (${status}): rename one of them`;
}

/** Lists the codes that an operation can return. @param all the codes of the document */
function rejectedCodes(operation: OperationObject, all: Codes): Codes {
  const own = new Set(findOperation(operation.operationId)?.rejects.map(({ code }) => code));
  const includes = ({ on = [] }: DefinedError): boolean =>
    typeof on === 'string' ? KINDS[on](operation) : on.includes(operation.operationId ?? '');
  return all.filter((code) => own.has(code.code) || includes(code));
}

const DEFAULT: ResponseObject = {
  ...errorResponse(defaultCodes),
  description: `An error that any request can get: ${DEFAULT_STATUSES.join(', ')}. The description of the API lists its codes.`,
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
    const { 200: success } = get?.responses ?? {};
    if (!get || !success || '$ref' in success || !success.headers?.['Cache-Control']) continue;
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
  const own = codes.filter(({ on }) => on !== 'every operation').map(({ code }) => code);
  return [reason, ...own].join('-');
}

function errorResponse(codes: Codes): ResponseObject {
  const names = [...new Set(codes.flatMap(({ header = 'Allow' }) => (header === 'Allow' ? [] : header)))];
  const isAlways = names.length === 1 && codes.every(({ header }) => header);
  const optional = names.map((name) => [name, { ...COMPONENT_HEADERS[name], required: false }]);
  const headers = { ...Object.fromEntries(isAlways ? [] : optional), ...headersOf(isAlways ? names : []) };
  if (names.includes('Location')) headers['Location'] = { ...LOCATION_OF_TEXT, required: false };
  return {
    description: codes.map(({ code, when }) => `- \`${code}\`: ${when}.`).join('\n'),
    headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}
