import type { OpenAPIObject, OperationObject, PathItemObject, SchemaObject } from '@nestjs/swagger';
import { stringify } from 'lossless-json';

const METHODS = ['post', 'get', 'put', 'patch', 'delete'] as const;

interface Route {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly operation: OperationObject;
}

type Schemas = NonNullable<OpenAPIObject['components']>['schemas'];
type Schema = NonNullable<Schemas>[string];

/**
 * Returns a title and a `curl` line for each operation, with the examples of the document. On a new database each of them
 * succeeds in this order.
 *
 * Of the operations of a tag, those that create come first: the others need what they create. Those that remove come
 * last of all, in the reverse order of the tags: a later module may refer to what an earlier one has.
 */
export function curlLines(
  { paths, tags = [], components }: OpenAPIObject,
  url: string,
  key: string,
): string[] {
  const names = tags.map(({ name }) => name);
  const order = ({ operation, method }: Route) => {
    const tag = names.indexOf(operation.tags?.[0] ?? '');
    return method === 'delete' ? 3 * names.length - tag : 2 * tag + (method === 'post' ? 0 : 1);
  };
  return Object.entries(paths)
    .flatMap(([path, item]) => routesOf(path, item))
    .toSorted((one, other) => order(one) - order(other))
    .flatMap((route) => [titleOf(route.operation), curlOf(route, components?.schemas, url, key)]);
}

function routesOf(path: string, item: PathItemObject): Route[] {
  return METHODS.flatMap((method) => {
    const operation = item[method];
    return operation ? [{ method, path, operation }] : [];
  });
}

function titleOf({ operationId, summary = operationId, deprecated }: OperationObject): string {
  return `# ${summary}${deprecated ? ' (deprecated)' : ''}`;
}

function curlOf({ method, path, operation }: Route, schemas: Schemas, url: string, key: string): string {
  const body = bodyOf(operation, schemas);
  const isImplied = method === (body === undefined ? 'get' : 'post');
  return [
    `curl -H 'Authorization: Bearer ${key}'`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`]),
    ...(isImplied ? [] : [`-X ${method.toUpperCase()}`]),
    ...(body === undefined ? [] : [`-d ${quote(body)}`]),
    quote(url + fillPath(path) + queryOf(operation, schemas)),
  ].join(' ');
}

/** A new database has only resources with the id 1. */
function fillPath(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '1');
}

function queryOf({ parameters = [] }: OperationObject, schemas: Schemas): string {
  const examples = parameters.flatMap((parameter) => {
    if (!('in' in parameter) || parameter.in !== 'query' || !parameter.schema) return [];
    const { example } = resolve(parameter.schema, schemas);
    // A list is a repeated parameter.
    return example === undefined
      ? []
      : [example].flat().map((each): [string, string] => [parameter.name, String(each)]);
  });
  return examples.length > 0 ? `?${new URLSearchParams(examples).toString()}` : '';
}

/** Returns the members of the body that the operation requires; without any the whole example. */
function bodyOf({ requestBody }: OperationObject, schemas: Schemas): string | undefined {
  const schema = requestBody && 'content' in requestBody && requestBody.content['application/json']?.schema;
  if (!schema) return undefined;
  const { example, required = [] } = resolve(schema, schemas);
  const members = Object.entries(example ?? {}).filter(
    ([name]) => required.length === 0 || required.includes(name),
  );
  return stringify(Object.fromEntries(members));
}

function resolve(schema: Schema, schemas: Schemas): SchemaObject {
  if (!('$ref' in schema)) return schema;
  const target = schemas?.[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)];
  return target ? resolve(target, schemas) : {};
}

/** Quotes a word for the shell if it needs quotes. */
function quote(word: string): string {
  return /^[\w:/.-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
