import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv, { type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'lossless-json';
import { parseInt64 } from '../../src/http/int64';
import type { Answer } from './http';

type Checked = Pick<Answer, 'status' | 'headers' | 'text'>;

const document = JSON.parse(readFileSync(join(__dirname, '..', '..', 'openapi.json'), 'utf8'));

/** What HTTP and CORS themselves may add; a client of the API need not know of it. */
const HEADERS_OF_THE_CONNECTION = new Set([
  'access-control-expose-headers',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'vary',
]);

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema(closed(document), 'openapi.json');
/** By the schema's place in the document. */
const validators = new WeakMap<object, ValidateFunction>();

const operations = Object.entries<any>(document.paths).map(([path, item]) => ({
  pattern: new RegExp(`^/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  item,
}));

/**
 * Holds an answer of a documented operation against openapi.json: status, headers and body. A HEAD is answered as its
 * GET is; what belongs to no operation is not looked at.
 *
 * @throws Error that names what is not documented
 */
export function refuseUndocumented(method: string, target: string, answer: Checked): void {
  const operation = operationOf(method, target);
  if (operation === undefined) return;
  const problems = problemsOf(method, operation, answer);
  if (problems.length === 0) return;
  const text = problems.map((problem) => `\n  ${problem}`).join('');
  throw new Error(`openapi.json does not have this answer to ${method} ${target}:${text}`);
}

/** The same for the first request and the first answer of what was sent and received on a socket. */
export function refuseUndocumentedRaw(sent: string, received: string): void {
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.1\r\n/.exec(sent) ?? [];
  const [, status, head, rest = ''] =
    /^HTTP\/1\.1 ([2-5]\d\d) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(received) ?? [];
  if (method === undefined || target === undefined || head === undefined) return;
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .map((line) => [line.split(':', 1).join().toLowerCase(), line.replace(/^[^:]*: ?/, '')]),
  );
  const body = Buffer.from(rest).subarray(0, Number(headers['content-length']));
  refuseUndocumented(method, target, { status: Number(status), headers, text: body.toString() });
}

function operationOf(method: string, target: string): any {
  const path = decoded(target.split(/[?#]/, 1).join());
  const found = operations.find(({ pattern }) => pattern.test(path));
  return found?.item[method === 'HEAD' ? 'get' : method.toLowerCase()];
}

function problemsOf(method: string, operation: any, answer: Checked): string[] {
  const response = resolved(operation.responses[answer.status]);
  if (response === undefined) return [`status ${answer.status}: ${answer.text}`];
  return [...headerProblems(response, answer), ...bodyProblems(method, response, answer)];
}

function headerProblems({ headers = {} }: any, answer: Checked): string[] {
  const documented = new Map(
    Object.entries(headers).map(([name, header]) => [name.toLowerCase(), resolved(header)]),
  );
  const unknown = Object.keys(answer.headers).filter(
    (name) => !documented.has(name) && !HEADERS_OF_THE_CONNECTION.has(name),
  );
  const missing = [...documented].filter(([name, { required }]) => required && !(name in answer.headers));
  return [
    ...unknown.map((name) => `header ${name}: ${String(answer.headers[name])}`),
    ...missing.map(([name]) => `header ${name} is missing`),
    ...[...documented].flatMap(([name, { schema }]) => valueProblems(name, schema, answer.headers[name])),
  ];
}

function valueProblems(name: string, schema: any, value: string | string[] | undefined): string[] {
  if (value === undefined) return [];
  const isNumber = schema.type === 'integer' && /^-?\d+$/.test(String(value));
  return schemaProblems(`header ${name}`, schema, isNumber ? Number(value) : value);
}

function bodyProblems(method: string, { content }: any, { headers, text }: Checked): string[] {
  if (method === 'HEAD') return text === '' ? [] : ['a body'];
  const [mediaType = ''] = String(headers['content-type']).split(';', 1);
  const schema = content[mediaType]?.schema;
  if (schema === undefined) return [`Content-Type ${mediaType}`];
  return schemaProblems('body', schema, parse(text, undefined, { parseNumber: exactNumber }));
}

/** Ajv knows numbers only; whether an integer that they cannot hold is an int64 is decided here. */
function exactNumber(digits: string): number {
  const number = Number(digits);
  if (Number.isInteger(number) && parseInt64(digits) === undefined) throw new Error(`${digits} is no int64`);
  return number;
}

function schemaProblems(what: string, schema: any, value: unknown): string[] {
  const validate = validators.get(schema) ?? compile(schema);
  validators.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${what} ${instancePath}: ${message}`);
}

function compile(schema: object): ValidateFunction {
  const local = JSON.stringify(schema).replaceAll('"#/components', '"openapi.json#/components');
  return ajv.compile(JSON.parse(local));
}

/** Clients must expect members that a later version adds; here one that is not documented is a mistake. */
function closed(whole: any): object {
  const schemas = Object.entries<any>(whole.components.schemas).map(([name, schema]) => [
    name,
    schema.type === 'object' ? { ...schema, additionalProperties: false } : schema,
  ]);
  return { components: { schemas: Object.fromEntries(schemas) } };
}

function resolved(node: any): any {
  if (node?.$ref === undefined) return node;
  const [, kind, name] = String(node.$ref).split('/').slice(1);
  return document.components[kind!][name!];
}

function decoded(path: string): string {
  return path
    .split('/')
    .map((segment) => {
      try {
        return encodeURIComponent(decodeURIComponent(segment));
      } catch {
        return segment;
      }
    })
    .join('/');
}
