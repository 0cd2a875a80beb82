import { STATUS_CODES } from 'node:http';
import type { OpenAPIObject, ResponseObject } from '@nestjs/swagger';
import { COMPONENT_HEADERS, headersOf, LOCATION_OF_TEXT } from '../../platform/api-docs/header-catalogue';
import { DEFAULT_STATUSES, defaultCodes } from '../../platform/errors/platform.errors';
import { type Codes, operationsOf, rejectedCodes } from './codes';

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
    const own = rejected.filter((code) => !defaultCodes.includes(code));
    for (const status of new Set(own.map((code) => code.status))) {
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
