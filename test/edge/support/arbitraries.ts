import * as fc from 'fast-check';

/** An operation of the OpenAPI document. */
export interface Operation {
  readonly method: string;
  /** With its parameters in braces, and with /v1 if the operation has it. */
  readonly path: string;
  /** The schemas of the members of its body, by name; none if the operation has no body. */
  readonly members: Readonly<Record<string, MemberSchema>>;
}

interface MemberSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
}

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  readonly body: Buffer;
}

/** Returns every operation of an OpenAPI document, and addresses outside it. */
export function operationsOf(document: any): Operation[] {
  const documented = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: `/v1${path}`,
      members: membersOf(operation, document.components.schemas),
    })),
  );
  const others = ['/', '/livez', '/readyz', '/openapi.json', '/openapi.yaml', '/docs', '/v1', '/nothing'];
  const problems = ['/problems/validation_failed', '/problems/nothing'];
  return [...documented, ...[...others, ...problems].map((path) => ({ method: 'GET', path, members: {} }))];
}

/** Returns the schemas of the members of a body by their names. */
function membersOf({ requestBody }: any, schemas: any): Operation['members'] {
  if (requestBody === undefined) return {};
  const resolve = ({ allOf: [schema] = [{}], ...given }: any): any => {
    const { $ref, ...own } = { ...schema, ...given };
    return $ref === undefined ? own : resolve(schemas[$ref.split('/').at(-1)]);
  };
  const { properties } = resolve(requestBody.content['application/json'].schema);
  return Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, resolve(schema)]));
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'];

const int64 = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);

/** Integers in several forms of JSON, and other numbers. */
const number = fc.oneof(
  { weight: 6, arbitrary: int64.map(String) },
  int64.map((value) => `${value}.0`),
  int64.map((value) => `${value}e0`),
  fc.bigInt(-(2n ** 70n), 2n ** 70n).map(String),
  fc.double().map((value) => JSON.stringify(value)),
  fc.constantFrom('1e3', '-0', '1e400', '1e-400', '00', '0.10', '9'.repeat(400)),
);

const anyText = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }) },
  fc.string({ unit: 'grapheme', minLength: 240, maxLength: 270 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ maxLength: 20 }),
  // UTF-16 units, with some lone surrogates.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 10 })
    .map((units) => String.fromCharCode(...units)),
);

/** Values of one member as JSON: most of its type, some of the values and types of other members. */
function valueOf(schema: MemberSchema): fc.Arbitrary<string> {
  const wrong = fc.constantFrom('null', '1', '"available"', '"other"', 'true', '[]', '{}');
  return fc.oneof({ weight: 20, arbitrary: validOf(schema) }, wrong);
}

function validOf({ type, enum: values }: MemberSchema): fc.Arbitrary<string> {
  if (values !== undefined) return fc.constantFrom(...values).map((value) => JSON.stringify(value));
  if (type === 'string') return anyText.map((value) => JSON.stringify(value));
  // The ids of the first resources, so that a body can refer to one.
  return type === 'integer' ? fc.oneof(number, fc.constantFrom('1', '2')) : fc.json();
}

const anyMember = fc
  .tuple(fc.string({ unit: 'grapheme' }), fc.json())
  .map(([key, value]) => `${JSON.stringify(key)}:${value}`);

/** The members of a body, in any order; some are missing, some repeated, some unknown. */
function resourceOf(members: Operation['members']): fc.Arbitrary<Buffer> {
  const known = Object.entries(members).map(([key, schema]) =>
    fc.option(
      valueOf(schema).map((value) => `${JSON.stringify(key)}:${value}`),
      { freq: 20 },
    ),
  );
  return fc
    .tuple(fc.tuple(...known), fc.array(anyMember, { maxLength: 3 }))
    .map(([first, more]) => [...first, ...more])
    .chain((all) => fc.shuffledSubarray(all, { minLength: Math.max(all.length - 1, 0) }))
    .map((all) => Buffer.from(`{${all.filter((each) => each !== null).join()}}`));
}

function bodyOf(members: Operation['members']): fc.Arbitrary<Buffer> {
  const resource = resourceOf(members);
  return fc.oneof(
    { weight: 12, arbitrary: resource },
    { weight: 2, arbitrary: fc.json({ maxDepth: 8 }).map((value) => Buffer.from(value)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    // JSON with a few bytes changed.
    {
      weight: 1,
      arbitrary: fc
        .tuple(resource, fc.array(fc.tuple(fc.nat(300), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }))
        .map(([bytes, changes]) => changed(bytes, changes)),
    },
  );
}

const parameter = fc.oneof(
  int64.map(String),
  fc.constantFrom('1', '2', '0', '-1', '+1', '01', '1.0', '%00', '..', '%2e%2e', '%ff', '%', 'x'.repeat(300)),
  fc
    .string({ unit: 'grapheme' })
    .filter((text) => text.isWellFormed())
    .map(encodeURIComponent),
);
/** Parameters of the lists, with values of their own and of others, some of them repeated. */
const listQuery = fc
  .array(
    fc.tuple(
      fc.constantFrom('limit', 'cursor', 'status', 'categoryId', 'id', 'id', 'sort', 'account'),
      fc.oneof(parameter, fc.constantFrom('1', '5', '100', 'sold', 'placed', 'id', '-id', '*', 'fuzz', '')),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((parameters) => `?${parameters.map(([name, value]) => `${name}=${value}`).join('&')}`);
const query = fc.oneof(
  fc.constant(''),
  fc.constantFrom('?limit=1', '?limit=0', '?status=sold', '?cursor=x', '?limit=1&limit=1', '?%'),
  listQuery,
  fc.webQueryParameters().map((text) => `?${text}`),
);
/** Values of If-Match and If-None-Match; each character is one that Node.js sends in a header. */
const condition = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  fc.constantFrom('', '"', '""', 'W/"', 'W/*', '*, *', '"a", W/"b",,', ',', '"a\tb"', '"'.repeat(200)),
  fc.base64String().map((text) => `"${text}"`),
  fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map(characterOf), maxLength: 60 }),
);
const conditions = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: condition },
  fc.array(condition, { minLength: 2, maxLength: 3 }),
);
const contentType = fc.oneof(
  { weight: 50, arbitrary: fc.constant('application/json') },
  fc.constantFrom('application/json; charset=x', 'text/plain', '', ';;', 'application/json, x'),
);

/** A request to one of the operations, in most cases with its method. */
export function requestTo(operations: readonly Operation[]): fc.Arbitrary<FuzzRequest> {
  // Half of them to operations that can store something.
  const writes = operations.filter(({ method }) => method === 'POST' || method === 'PATCH');
  return fc.oneof(fc.constantFrom(...writes), fc.constantFrom(...operations)).chain((operation) =>
    fc
      .tuple(
        fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, fc.constantFrom(...METHODS)),
        parameter,
        query,
        contentType,
        bodyOf(operation.members),
        fc.record({ 'if-match': conditions, 'if-none-match': conditions }),
      )
      .map(([otherMethod, value, search, type, body, conditional]) => ({
        method: otherMethod ?? operation.method,
        path: operation.path.replaceAll(/\{\w+\}/g, () => value) + search,
        headers: { 'content-type': type, ...givenOf(conditional) },
        body,
      })),
  );
}

/** The bytes of a request with some changes, insertions and deletions. */
export function mutationOf(bytes: Buffer): fc.Arbitrary<Buffer> {
  const at = fc.nat(bytes.length);
  const junk = fc.oneof(
    fc.uint8Array({ maxLength: 5 }).map((values) => Buffer.from(values)),
    fc
      .constantFrom('\r\n', '\n', '\r', ' ', ':', '\0', '\t', '%', '0', 'Transfer-Encoding: chunked\r\n')
      .map((text) => Buffer.from(text)),
  );
  return fc
    .array(fc.tuple(at, fc.nat(4), junk), { minLength: 1, maxLength: 4 })
    .map((edits) =>
      edits.reduce(
        (text, [start, left, put]) =>
          Buffer.concat([text.subarray(0, start), put, text.subarray(start + left)]),
        bytes,
      ),
    );
}

/** DEL is the only control character of the range. */
function characterOf(code: number): string {
  return code === 0x7f ? '~' : String.fromCharCode(code);
}

function givenOf<Value>(values: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, Value & {}] => entry[1] !== undefined),
  );
}

function changed(bytes: Buffer, changes: readonly (readonly [number, number])[]): Buffer {
  const copy = Buffer.from(bytes);
  for (const [at, value] of changes) if (at < copy.length) copy[at] = value;
  return copy;
}
