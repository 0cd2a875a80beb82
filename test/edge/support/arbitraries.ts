import * as fc from 'fast-check';

/** An operation of the OpenAPI document. */
export interface Operation {
  readonly method: string;
  /** With its parameters in braces, and with /v1 if the operation has it. */
  readonly path: string;
}

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** Returns every operation of an OpenAPI document, and addresses outside it. */
export function operationsOf(document: any): Operation[] {
  const documented = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path: `/v1${path}` })),
  );
  const others = ['/', '/livez', '/readyz', '/openapi.json', '/openapi.yaml', '/docs', '/v1', '/nothing'];
  return [...documented, ...others.map((path) => ({ method: 'GET', path }))];
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

const name = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }) },
  fc.string({ unit: 'grapheme', minLength: 240, maxLength: 270 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ maxLength: 20 }),
  // UTF-16 units, with some lone surrogates.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 10 })
    .map((units) => String.fromCharCode(...units)),
);

/** One member of a JSON object. */
const member = (key: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  value.map((text) => `${JSON.stringify(key)}:${text}`);
const status = fc.constantFrom(
  '"available"',
  '"sold"',
  ...['available', 'pending', 'sold', 'placed', 'approved', 'delivered', 'cancelled', 'other'].map((text) =>
    JSON.stringify(text),
  ),
  'null',
);
const anyMember = fc
  .tuple(fc.string({ unit: 'grapheme' }), fc.json())
  .map(([key, text]) => `${JSON.stringify(key)}:${text}`);

/** Members of an animal, an order, or a change, in any order; some are missing, some repeated. */
const resource = fc
  .tuple(
    fc.option(
      member(
        'name',
        name.map((text) => JSON.stringify(text)),
      ),
      { freq: 20 },
    ),
    fc.option(member('categoryId', number), { freq: 20 }),
    fc.option(member('status', status), { freq: 2 }),
    fc.option(member('petId', fc.oneof(number, fc.constant('1'))), { freq: 2 }),
    fc.array(anyMember, { maxLength: 3 }),
  )
  .map(([first, second, third, fourth, more]) => [first, second, third, fourth, ...more])
  .chain((members) => fc.shuffledSubarray(members, { minLength: members.length - 1 }))
  .map((members) => Buffer.from(`{${members.filter((text) => text !== null).join()}}`));

const body = fc.oneof(
  { weight: 12, arbitrary: resource },
  { weight: 2, arbitrary: fc.json({ maxDepth: 8 }).map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  // JSON with a few bytes changed.
  {
    weight: 1,
    arbitrary: fc
      .tuple(resource, fc.array(fc.tuple(fc.nat(300), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }))
      .map(([bytes, changes]) => changed(bytes, changes)),
  },
);

const parameter = fc.oneof(
  int64.map(String),
  fc.constantFrom('1', '2', '0', '-1', '+1', '01', '1.0', '%00', '..', '%2e%2e', '%ff', '%', 'x'.repeat(300)),
  fc
    .string({ unit: 'grapheme' })
    .filter((text) => text.isWellFormed())
    .map(encodeURIComponent),
);
const query = fc.oneof(
  fc.constant(''),
  fc.constantFrom('?limit=1', '?limit=0', '?status=sold', '?cursor=x', '?limit=1&limit=1', '?%'),
  fc.webQueryParameters().map((text) => `?${text}`),
);
const contentType = fc.oneof(
  { weight: 50, arbitrary: fc.constant('application/json') },
  fc.constantFrom('application/json; charset=x', 'text/plain', '', ';;', 'application/json, x'),
);

/** A request to one of the operations, in most cases with its method. */
export function requestTo(operations: readonly Operation[]): fc.Arbitrary<FuzzRequest> {
  // Half of them to operations that can store something.
  const writes = operations.filter(({ method }) => method === 'POST' || method === 'PATCH');
  return fc
    .tuple(
      fc.oneof(fc.constantFrom(...writes), fc.constantFrom(...operations)),
      fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, fc.constantFrom(...METHODS)),
      parameter,
      query,
      contentType,
      body,
    )
    .map(([{ method, path }, otherMethod, value, search, type, bytes]) => ({
      method: otherMethod ?? method,
      path: path.replaceAll(/\{\w+\}/g, () => value) + search,
      headers: { 'content-type': type },
      body: bytes,
    }));
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

function changed(bytes: Buffer, changes: readonly (readonly [number, number])[]): Buffer {
  const copy = Buffer.from(bytes);
  for (const [at, value] of changes) if (at < copy.length) copy[at] = value;
  return copy;
}
