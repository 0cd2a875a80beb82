import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { findOperation, ownHeaders } from '../../platform/api-docs/operation.decorator';
import type { Config } from '../../platform/config/config';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { JSON_TYPE } from '../../platform/errors/media-types';
import { API_TITLE, baseUrlOf } from './document';

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

const HOW =
  'Set the variable apiKey. Then each request works as it is sent: one that creates something keeps its id for the others. A key without the scope of a request gets 403.';

/** In this order, what a request needs exists: POST comes first if it creates something. */
const ORDER = ['create', 'get', 'patch', 'post', 'delete'];

type Parameter = Extract<NonNullable<OperationObject['parameters']>[number], { in: string }>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

interface Request {
  readonly path: string;
  readonly method: string;
  readonly operation: OperationObject;
  readonly parameters: readonly Parameter[];
  /** `create` for a POST that has a `Location`, otherwise the method. */
  readonly kind: string;
}

/** Serves the operations as a collection for Postman, Insomnia and others (Postman Collection 2.1), without a key. */
export function serveCollection(
  fastify: FastifyInstance,
  config: Config,
  document: () => OpenAPIObject,
): void {
  const text = () => JSON.stringify(collectionOf(document(), baseUrlOf(config, fastify)), null, 2);
  serveStatic(fastify, '/collection.json', () => [{ 'Content-Type': JSON_TYPE }, text()]);
}

function collectionOf({ info, paths, tags = [], components }: OpenAPIObject, baseUrl: string) {
  const requests = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]: [string, OperationObject]) =>
      requestOf(path, method, operation),
    ),
  );
  const ids = requests.flatMap(({ parameters }) => parameters).filter((each) => each.in === 'path');
  const values = new Map(ids.map((each) => [each.name, exampleOf(each) || '1']));
  const itemsOf = (chosen: readonly Request[]) =>
    chosen
      .toSorted((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind))
      .map((each) => itemOf(each, [...values.keys()], paths, components?.schemas ?? {}));
  return {
    info: { name: API_TITLE, version: info.version, description: HOW, schema: SCHEMA },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{apiKey}}', type: 'string' }] },
    variable: [
      { key: 'baseUrl', value: baseUrl },
      { key: 'apiKey', value: '' },
      ...[...values].map(([key, value]) => ({ key, value })),
    ],
    item: [
      ...tags.map(({ name, description }) => ({
        name,
        description,
        item: itemsOf(requests.filter(isOf(name))),
      })),
      { name: 'removals', item: itemsOf(requests.filter(({ kind }) => kind === 'delete')) },
    ].filter(({ item }) => item.length > 0),
  };
}

/** True for a request in the folder of a tag. */
function isOf(tag: string) {
  return ({ kind, operation }: Request) => kind !== 'delete' && operation.tags?.[0] === tag;
}

function requestOf(path: string, method: string, operation: OperationObject): Request {
  const parameters = (operation.parameters ?? []).filter((each) => 'in' in each);
  const facts = findOperation(operation.operationId);
  const kind = facts && ownHeaders(facts).includes('Location') ? 'create' : method;
  return { path, method, operation, parameters, kind };
}

function itemOf(request: Request, ids: readonly string[], paths: OpenAPIObject['paths'], schemas: Schemas) {
  const { path, method, operation, parameters, kind } = request;
  const created = kind === 'create' ? idOf(request, paths) : undefined;
  const query = parameters
    .filter((each) => each.in === 'query')
    .map((each) => ({
      key: each.name,
      value: exampleOf(each),
      description: each.description,
      disabled: each.required !== true,
    }));
  const body = bodyOf(operation, created, ids, schemas);
  const segments = path
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, '{{$1}}')
    .split('/');
  const required = query
    .filter(({ disabled }) => !disabled)
    .map(({ key, value }) => `${key}=${value}`)
    .join('&');
  return {
    name: operation.summary,
    request: {
      method: method.toUpperCase(),
      description: operation.description,
      header: [
        ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
        ...(parameters.some(({ name }) => name === 'Idempotency-Key')
          ? [{ key: 'Idempotency-Key', value: '{{$guid}}' }]
          : []),
      ],
      ...(body !== undefined && { body: { mode: 'raw', raw: body, options: { raw: { language: 'json' } } } }),
      url: {
        raw: `{{baseUrl}}/${segments.join('/')}${required && `?${required}`}`,
        host: ['{{baseUrl}}'],
        path: segments,
        query,
      },
    },
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: scriptOf(operation, created) } }],
  };
}

/** Returns the script that checks a response, and keeps the id of what it created. */
function scriptOf({ responses }: OperationObject, created: string | undefined): string[] {
  const status = Object.keys(responses).find((each) => each.startsWith('2'));
  const id = "decodeURIComponent(pm.response.headers.get('Location').split('/').pop())";
  return [
    `pm.test('${status}, or 403 without the scope', () => pm.expect(pm.response.code).to.be.oneOf([${status}, 403]));`,
    ...(created === undefined
      ? []
      : [`if (pm.response.code === 201) pm.collectionVariables.set('${created}', ${id});`]),
  ];
}

/** Returns the name of the id in the paths of what a POST creates. */
function idOf({ path, operation }: Request, paths: OpenAPIObject['paths']): string | undefined {
  const { location = `${path}/:id` } = findOperation(operation.operationId) ?? {};
  const start = `${location.slice(0, location.lastIndexOf('/'))}/{`;
  return Object.keys(paths)
    .find((each) => each.startsWith(start))
    ?.slice(start.length)
    .replace(/\}.*/, '');
}

/** Returns the example of the body, with the ids of what exists. A name that the client chooses becomes a new one. */
function bodyOf(
  { requestBody }: OperationObject,
  created: string | undefined,
  ids: readonly string[],
  schemas: Schemas,
): string | undefined {
  const content =
    requestBody && 'content' in requestBody ? requestBody.content['application/json'] : undefined;
  if (!content?.schema || !('$ref' in content.schema)) return undefined;
  const schema = schemas[content.schema.$ref.split('/').at(-1) ?? ''];
  const example: unknown = schema && 'example' in schema ? schema.example : {};
  const isNamed = created !== undefined && !created.endsWith('Id');
  return JSON.stringify(
    example,
    (key, value: unknown) => {
      if (isNamed && key === 'name') return `${String(value)} {{$timestamp}}`;
      return ids.includes(key) ? `{{${key}}}` : value;
    },
    2,
  ).replaceAll(/"(\{\{\w+Id\}\})"/g, '$1');
}

function exampleOf({ example, schema = {} }: Parameter): string {
  return String(example ?? ('$ref' in schema ? '' : (schema.example ?? schema.default ?? '')));
}
