import type { INestApplication } from '@nestjs/common';
import { type OpenAPIObject, type ServerObject, SwaggerModule } from '@nestjs/swagger';
import { DUMP_SCHEMA, dump, intCoreTag } from 'js-yaml';
import { stringify } from 'lossless-json';
import { type Config, siteOf } from '../../config/config';
import { COMMON_HEADERS, COMPONENT_HEADERS } from '../operation/header-catalogue';
import { IF_NONE_MATCH_HEADER } from '../entity-tags/entity-tag';
import { defaultCodes } from '../errors/common.errors';
import type { Extension } from '../extension/extension';
import { MAX_ITEMS } from '../lists/page';
import { type Codes, codesOf, completeResponses, ERROR_SCHEMA } from './responses';
import { completeEvents, completeSchemas } from './schemas';

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'API key',
  description:
    'An API key of an account, without "Bearer": `ask_live_…` in production, `ask_test_…` elsewhere. It has scopes, and expires after 365 days by default.',
} as const;

const SERVERS: Readonly<Record<Config['deployment'], string>> = {
  production: 'Production',
  staging: 'Staging',
  development: 'This deployment, for development and local tests',
};

/** The schema of js-yaml, whose integers may be a bigint. */
const EXACT_SCHEMA = DUMP_SCHEMA.withTags({
  ...intCoreTag,
  identify: (value) => typeof value === 'bigint' || intCoreTag.identify(value),
  represent: String,
});

/**
 * Creates the OpenAPI document from the controllers, the DTO classes and the tables of codes and headers. Its paths are
 * relative to the base URL.
 *
 * @param added the codes of every operation besides the common ones
 * @param planTable the plans with their limits, as a Markdown table
 */
export function createDocument(
  app: INestApplication,
  config: Config,
  { tags, events }: Required<Pick<Extension, 'tags' | 'events'>>,
  added: Codes,
  planTable: string,
): OpenAPIObject {
  const basis = {
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
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    components: {
      securitySchemes: { bearer: BEARER },
      schemas: { Error: ERROR_SCHEMA },
      parameters: { IfNoneMatch: { in: 'header' as const, ...IF_NONE_MATCH_HEADER } },
      headers: { ...COMPONENT_HEADERS },
    },
  };
  const document = SwaggerModule.createDocument(app, basis, {
    extraModels: Object.values(events).map(({ data }) => data),
    autoTagControllers: false,
  });
  // The base URL contains the version.
  const entries = Object.entries(document.paths).map(([path, item]) => [
    path.replace(/^\/v1(?=\/)/, ''),
    item,
  ]);
  const paths: OpenAPIObject['paths'] = Object.fromEntries(entries);
  const schemas = { ...document.components?.schemas };
  completeEvents(schemas, events);
  completeSchemas(paths, schemas);
  const responses = completeResponses(paths, codesOf(paths, added));
  return { ...basis, paths, components: { ...basis.components, schemas, responses } };
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

/**
 * Prints the document as JSON, for `/openapi.json` and the committed file. An integer may be a bigint. More than one
 * space of indentation would be a tenth of the package.
 */
export function jsonText(document: OpenAPIObject): string {
  return `${stringify(document, undefined, 1)}\n`;
}

export function yamlText(document: OpenAPIObject): string {
  return dump(document, { schema: EXACT_SCHEMA, noRefs: true, lineWidth: -1 });
}
