import type { OpenAPIObject, SchemaObject, ServerObject } from '@nestjs/swagger';
import { type Config, siteOf } from '../../config/config';
import { ApiError } from '../errors/api-error';
import { defaultCodes } from '../errors/common.errors';
import { MAX_ITEMS } from '../lists/page';
import { COMMON_HEADERS, COMPONENT_HEADERS, REQUEST_HEADERS, text } from '../operation/header-catalogue';

const SERVERS: Readonly<Record<Config['deployment'], string>> = {
  production: 'Production',
  staging: 'Staging',
  development: 'This deployment, for development and local tests',
};

/** The body of every error (docs/specification.md), which no handler names. */
const ERROR_SCHEMA: SchemaObject = {
  type: 'object',
  properties: {
    code: {
      ...text(64, '^[a-z]+(_[a-z]+)*$', { minLength: 1 }),
      example: 'validation_failed',
      description:
        'Machine-readable error code. A later release may add codes: handle an unknown code by its `status`.',
    },
    message: {
      ...text(ApiError.MAX_MESSAGE_LENGTH, String.raw`\S`, { minLength: 1 }),
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

/**
 * Returns the parts of the document that no operation changes.
 *
 * @param tags with their descriptions
 * @param planTable the plans with their limits, as a Markdown table
 */
export function basisOf(config: Config, tags: Readonly<Record<string, string>>, planTable: string) {
  return {
    openapi: '3.0.3',
    info: {
      title: 'Animal Store',
      description: description(planTable),
      version: '1.0.0',
      contact: { name: 'The operator of this deployment' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: serversOf(config),
    externalDocs: { description: 'Guide', url: `${siteOf(config.publicBaseUrl)}/guide` },
    tags: Object.entries(tags).map(([name, of]) => ({ name, description: of })),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'API key',
          description:
            'An API key of an account, without "Bearer": `ask_live_…` in production, `ask_test_…` elsewhere. It has scopes, and expires after 365 days by default.',
        },
      },
      schemas: { Error: ERROR_SCHEMA },
      parameters: { IfNoneMatch: { in: 'header', ...REQUEST_HEADERS.ifNoneMatch } },
      headers: { ...COMPONENT_HEADERS },
    },
  } satisfies Omit<OpenAPIObject, 'paths'>;
}

/** Returns `info.description`: Markdown with the facts that a reader needs before the first request. */
function description(planTable: string): string {
  return `The animals of a store: list them, add one, fetch one, order one.

## Authentication

Every operation requires an API key: \`Authorization: Bearer <API_KEY>\`. A key belongs to an account, has scopes and expires. The operator of the service creates it and shows it once.

## Rate limits

${planTable}

The keys of an account share two windows: the minute, which begins with the first request counted in it, and the UTC day. Every response has \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (Unix seconds) of the window with the fewest requests remaining. Above a limit the response is 429. Wait for the seconds in \`Retry-After\`, and back off exponentially. The service temporarily bans a key that repeatedly retries too early. \`GET /key\` shows both windows and the strikes of the key, and is not counted.

## Lists

A list is a bare array ordered by \`id\`, with at most \`limit\` items (1 to ${MAX_ITEMS}). The \`Link\` header (RFC 8288) has \`rel="next"\` on every page except the last, and \`rel="first"\` on every page except the first. Use its URLs unchanged; \`cursor\` is opaque. There are no totals.

## Bodies

Bodies are JSON objects in UTF-8. \`id\`, \`categoryId\` and \`petId\` are int64, exact over the whole range. Parse them with a parser that keeps integers beyond 2^53 exact. The service ignores undocumented members and query parameters. With the request header \`Prefer: handling=strict\` (RFC 7240) they are 400 \`validation_failed\`; the message names each and the nearest known name. It never converts types; \`null\` is not the same as a missing member.

## Errors

Every error has the body \`Error\`: \`code\`, \`message\`, \`status\`. The message names each invalid field. Any request can get these errors, which operations have as \`default\`:

${defaultCodes.map(({ status, code, when }) => `- ${status} \`${code}\`: ${when}.`).join('\n')}

In addition to the errors that the operations list, any URL can return 404 \`route_not_found\`, and 405 \`method_not_allowed\` with the methods in \`Allow\`. Other operations may return generic codes, such as \`bad_request\` or \`conflict\`. Handle an unknown code by its status.

Every GET operation also accepts HEAD; the response is the same without the body.

## Headers of every response

${Object.entries(COMMON_HEADERS)
  .map(([name, header]) => `- \`${name}\`: ${header.description}`)
  .join('\n')}

## Changes

Additions to \`/v1\` do not break clients: operations, optional parameters, response members, headers, error codes. Any other change is a new version next to it. Responses of a deprecated operation have \`Deprecation\` and \`Sunset\` headers until it is removed.`;
}

/** `x-internal` is true if the server is not for the public. */
function serversOf({ deployment, publicBaseUrl: base, stagingBaseUrl = base }: Config): ServerObject[] {
  const staging = stagingBaseUrl === base ? [] : [{ url: stagingBaseUrl, kind: 'staging' } as const];
  return [{ url: base, kind: deployment }, ...staging].map(({ url, kind }) => {
    return { url, description: SERVERS[kind], 'x-internal': kind === 'development' };
  });
}
