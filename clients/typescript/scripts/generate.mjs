// Writes src/generated from the OpenAPI document: types with int64 as bigint, the names of int64 members, error codes, and
// a method for each operation.
// @hey-api/openapi-ts writes the types, because openapi-typescript gets no updates since September 2026. 0.95.0 is its last
// version for Node.js 20.19.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';

const DOCUMENT = join(import.meta.dirname, '..', '..', '..', 'openapi.json');
const GENERATED = join(import.meta.dirname, '..', 'src', 'generated');
const NUMBERS = new Set(['integer', 'number']);

/** Only this plugin makes the type of an int64 `bigint`. The transformers that it writes too round, and are not used. */
const INT64_AS_BIGINT = { name: '@hey-api/transformers', bigInt: true, dates: false };

async function writeTypes(document) {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-client-'));
  await createClient({
    input: document,
    output: folder,
    plugins: ['@hey-api/typescript', INT64_AS_BIGINT],
    logs: { level: 'silent', file: false },
  });
  const text = readFileSync(join(folder, 'types.gen.ts'), 'utf8');
  rmSync(folder, { recursive: true });
  writeFileSync(join(GENERATED, 'types.ts'), text);
}

/** Every object of the document, with the name of the member that has it. */
function* objectsOf(value, name = '') {
  if (typeof value !== 'object' || value === null) return;
  yield [name, value];
  for (const [key, member] of Object.entries(value)) yield* objectsOf(member, key);
}

/** Makes a number of each int64 whose range a number holds exactly, such as the limit of a window. */
function withoutSmallInt64(document) {
  for (const [, schema] of objectsOf(document)) {
    const { format, minimum, maximum } = schema;
    const isSmall = minimum >= Number.MIN_SAFE_INTEGER && maximum <= Number.MAX_SAFE_INTEGER;
    if (format === 'int64' && isSmall) delete schema.format;
  }
  return document;
}

/**
 * Lists the members that are int64 in every schema.
 *
 * @throws Error if a name is int64 in one schema and another number elsewhere, because the parser knows only names
 */
function int64Members(document) {
  const schemas = [...objectsOf(document)].flatMap(([, { properties }]) => Object.entries(properties ?? {}));
  const numbers = schemas.map(([name, schema]) => [name, schema.type === 'array' ? schema.items : schema]);
  const named = (isWanted) =>
    new Set(numbers.filter(([, schema]) => isWanted(schema ?? {})).map(([name]) => name));
  const int64 = named(({ type, format }) => type === 'integer' && format === 'int64');
  const others = named(({ type, format }) => NUMBERS.has(type) && format !== 'int64');
  const ambiguous = [...int64].filter((name) => others.has(name));
  if (ambiguous.length > 0) {
    throw new Error(
      `These members are int64 in one schema and another number elsewhere: ${ambiguous.join(', ')}. Rename one.`,
    );
  }
  return [...int64];
}

/** Lists the codes of the document: a line for each in the description of its response, or of the API for `default`. */
function errorCodes({ info, components }) {
  const texts = [info, ...Object.values(components.responses)].map(({ description }) => description);
  const codes = texts.join('\n').matchAll(/^- (?:\d{3} )?`([a-z_]+)`: /gm);
  return [...new Set(Array.from(codes, ([, code]) => code))].sort();
}

/** Writes the method of an operation: its path parameters come first, then its body or its query, then its options. */
function methodOf(method, path, { operationId, summary, deprecated, description, parameters, requestBody }) {
  const type = `${operationId[0].toUpperCase()}${operationId.slice(1)}`;
  const has = (place, name) =>
    parameters?.some((each) => each.in === place && (name ?? each.name) === each.name);
  const isNeeded = parameters?.some((each) => each.in === 'query' && each.required);
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const isList = has('query', 'cursor');
  const options = has('header', 'Idempotency-Key')
    ? 'PostOptions'
    : has('header', 'If-Match')
      ? 'ChangeOptions'
      : 'CallOptions';
  const inputs = [
    ...inPath.map((name) => `${name}: types.${type}Data['path']['${name}']`),
    ...(requestBody ? [`body${requestBody.required ? '' : '?'}: types.${type}Data['body']`] : []),
    ...(has('query') ? [`query: Filters<types.${type}Data>${isNeeded ? '' : ' = {}'}`] : []),
    `own?: ${options}`,
  ];
  const url = `\`${path.replaceAll(/\{(\w+)\}/g, '${encodeURIComponent(String($1))}')}\``;
  const given = [...(requestBody ? ['body'] : []), ...(has('query') ? ['query'] : [])];
  const result = isList
    ? `list<types.${type}Response[number]>(${url}, query, own)`
    : `call<types.${type}Response>('${method.toUpperCase()}', ${url}, { ...own${given.map((name) => `, ${name}`).join('')} })`;
  const notice = deprecated ? `\n   * @deprecated ${description.replace('Deprecated: ', '')}` : '';
  return `  /**\n   * ${summary}.${notice}\n   */\n  ${operationId}: (${inputs.join(', ')}) => ${result},\n`;
}

function operationsOf({ paths }) {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => methodOf(method, path, operation)),
  );
  return `import type { CallOptions, ChangeOptions, Filters, PostOptions, Query, RequestOptions } from '../options.js';
import type { List } from '../paging.js';
import type * as types from './types.js';

/** Creates the methods: \`list\` reads the pages of a list, \`call\` sends any other request. */
export const operationsOf = (
  call: <T>(method: string, path: string, own: RequestOptions) => Promise<T>,
  list: <T>(path: string, query: Query, own?: CallOptions) => List<T>,
) => ({
${operations.join('')}});
`;
}

mkdirSync(GENERATED, { recursive: true });
const document = withoutSmallInt64(JSON.parse(readFileSync(DOCUMENT, 'utf8')));
await writeTypes(document);
writeFileSync(join(GENERATED, 'operations.ts'), operationsOf(document));
writeFileSync(
  join(GENERATED, 'values.ts'),
  `/** The members of bodies that are int64. */
export const INT64_MEMBERS = ${JSON.stringify(int64Members(document))} as const;

/** The error codes of the document. */
export type DocumentedCode = ${errorCodes(document)
    .map((code) => JSON.stringify(code))
    .join(' | ')};
`,
);
