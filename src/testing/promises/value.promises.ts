import { codeOf, isSuccess, pathOfLink, shown } from '../api';
import { encoded, isBatch, type Operation, type Parameter, parametersIn, type Schema } from '../api-document';
import type { TestResponse } from '../http-client';
import { changedAt, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import { type Resource, UNKNOWN_IDS } from '../resources';
import type { OperationUnderTest, Promises } from './operation-under-test';
import { PAGING } from './page.promises';

/** More of one parameter would make the URL too long. */
const MAX_REPEATED = 500;
const MANY = 10_000;

/** Texts that break programs: of databases, of JavaScript objects, of terminals. */
const TEXTS = ['a\u0000b', '\u0007', '__proto__', "'; DROP TABLE migrations; --", '2027-02-30'];

/** JSON texts of every type, and numbers beyond what JavaScript and PostgreSQL hold. */
const VALUES = [true, -1, 1.5, [], {}, '']
  .map(jsonOf)
  .concat('9223372036854775808', '-9223372036854775809', '1e400', '{"__proto__":{"name":"x"}}');

/** Texts that only one kind of member gets: one that can be a text. */
const LONG_TEXTS = ['x'.repeat(MANY), ' ', '\ud800', ...TEXTS].map(jsonOf);

/** Whole bodies that are not the documented object. */
const BODIES = ['', 'null', '[]', '"x"', '{"a":}', '{"a":1,"a":2}', `${'['.repeat(100)}${']'.repeat(100)}`];

/** Parameters as they are written in a URL; some are not UTF-8. */
const PARAMETERS = TEXTS.map(encodeURIComponent).concat(
  '0,1.5,9223372036854775808,true,%,%ED%A0%80'.split(','),
  'x'.repeat(300),
);

/** Values of bodies and parameters: valid ones are kept, invalid ones are rejected, and none is a 5xx. */
export const valuePromises: Promises = {
  async 'a creation keeps its example exactly, and its Location leads to it'(tested) {
    const { isCreating, operation, resources } = tested;
    const first = isCreating && (await resources.create(operation));
    if (!first) return;
    await checkLocation(tested, first);
    for (const { body, response } of resources.created.filter((each) => each.operation === operation)) {
      for (const [place] of tested.members) {
        const sent = valueAt(body, ...place);
        // Members of objects have places of their own.
        if (sent === undefined || (typeof sent === 'object' && sent !== null)) continue;
        checkKept(tested, operation, response, place, sent, `to ${place.join('.')} = ${shown(sent)}`);
      }
    }
  },

  async 'a change keeps what it does not name, and takes each value of an enumeration, and null'(tested) {
    const { api, document, members, operation, resources } = tested;
    const read = document.at('GET', operation.path);
    if (!/^(PUT|PATCH)$/.test(operation.method) || !read) return;
    // Texts that no earlier body has, so a constant is not the same.
    const example = resources.newBody(operation);
    const changes = members.flatMap(([place, member]) => {
      const values = place.length > 1 ? [] : (member.enum ?? [valueAt(example, ...place)]);
      return [...values, ...(member.nullable ? [null] : [])].map((value) => [place, value] as const);
    });
    let path = '';
    for (const [place, value] of changes) {
      // A null replaces the value of the change before it; each other change is made to a resource of its own.
      if (value !== null) path = (await resources.createAt(operation.path))?.path ?? '';
      if (path === '') return;
      const before = jsonIn((await api.send(read, { path })).text);
      const what = `${place.join('.')} = ${shown(value)}`;
      const [first = ''] = place;
      const whole = operation.method === 'PUT' ? example : { [first]: valueAt(example, first) };
      const body = changedAt(whole, place, value);
      const changed = await tested.send({ path, body, what });
      if (!isSuccess(changed)) continue;
      const after = await api.send(read, { path });
      for (const [by, response] of [[operation, changed] as const, [read, after] as const]) {
        const [from, to] = [before, jsonIn(response.text)].map((json) => jsonOf(valueAt(json, ...place)));
        for (const [other] of members) {
          // A null may stand for a default.
          if (value === null && other[0] === first && from !== to) continue;
          const isSent = valueAt(body, ...other.slice(0, 1)) !== undefined;
          const wanted = valueAt(isSent ? body : before, ...other);
          const cause = `to ${what}, and must respond with ${shown(wanted)}`;
          checkKept(tested, by, response, other, wanted, cause);
        }
      }
    }
  },

  async 'an unknown id gets 404'(tested) {
    const { operation, resources } = tested;
    const last = parametersIn(operation, 'path').at(-1);
    if (!last || !operation.path.endsWith('}')) return;
    const send = (id: string) =>
      tested.sendExample({ path: resources.pathOf(operation, id), what: `${last.name} = ${shown(id)}` });
    for (const value of PARAMETERS) await send(value);
    for (const id of operation.responses['404'] ? UNKNOWN_IDS : []) {
      const { status } = await send(id);
      if (status === 404 || status === 400) continue;
      tested.note(`responds ${status} if ${last.name} is unknown, and documents 404`);
    }
  },

  async 'a valid value is kept exactly, and an invalid one gets 400 and changes nothing'(tested) {
    const { operation, resources } = tested;
    const what = 'the documented example';
    const example = resources.newBody(operation);
    // The resource may exist the second time.
    for (const body of [example, example]) {
      checkAllowed(tested, await tested.send({ body, what }), what);
    }
    for (const parameter of parametersIn(operation, 'query')) await checkQuery(tested, parameter);
    if (operation.body) await checkBody(tested);
  },
};

/** A parameter is sent as it is written in the URL; a list is a repeated parameter. */
async function checkQuery(tested: OperationUnderTest, parameter: Parameter): Promise<void> {
  const { name, example } = parameter;
  const { document } = tested;
  const path = tested.pathWithout(name);
  const schema = document.schema(parameter.schema);
  const { items, maxItems = Infinity } = schema;
  const { type } = items === undefined ? schema : document.schema(items);
  const own = boundsOf(tested, schema).map((text) => encodeURIComponent(text.replace(/^"(.*)"$/, '$1')));
  // All lists take the parameters of pages from one class.
  const hostile = PAGING.has(name) ? [] : PARAMETERS;
  const examples = (schema.enum ?? [example ?? []]).map((value) => [value].flat().map(encoded));
  const attempts = ['', ...own, ...hostile, '1'].map((value) => [value]);
  const item = encoded(document.exampleOf(items ?? {}) ?? 1);
  if (schema.type === 'array' && maxItems <= MAX_REPEATED) attempts.push(Array(maxItems + 1).fill(item));
  for (const sent of [...examples, ...attempts]) {
    const query = sent.map((value) => `${name}=${value}`).join('&');
    const texts = new URLSearchParams(query).getAll(name);
    const values = texts.map((text) =>
      /^(integer|number)$/.test(`${type}`) ? (jsonIn(text) ?? text) : text,
    );
    const isValid = type === 'boolean' || document.errors(schema, items ? values : values[0]).length === 0;
    if (query === '') continue;
    const what = `${name} = ${shown(sent.length > 1 ? sent : sent[0])}`;
    const response = await tested.sendExample({
      path: `${path}${path.includes('?') ? '&' : '?'}${query}`,
      what,
    });
    if (examples.includes(sent)) checkAllowed(tested, response, what);
    if (!isValid && response.status < 300) {
      tested.note(`accepts ${what}, which its document forbids`, `accepts ${name}`);
    }
  }
}

/** Sends bodies that are not JSON or not the documented object, then bodies with other values at each place. */
async function checkBody(tested: OperationUnderTest): Promise<void> {
  const { api, members, operation } = tested;
  for (const [body, type, wanted] of [
    ['{', 'application/json', '400 malformed_json'],
    ['name=Rex', 'text/plain', '415 unsupported_media_type'],
  ] as const) {
    const what = `body = ${body}`;
    const response = await tested.send({ body, headers: { 'content-type': type }, what });
    tested.requires(response, `to ${what}`, wanted);
  }
  // All operations have one parser, so the first gets what others need not.
  const isFirst = operation === api.operations.find(({ body }) => body !== undefined);
  for (const body of isFirst ? [...BODIES, '{}'] : ['{}']) {
    await checkInvalid(tested, 'body', body, body);
  }
  for (const [place, member] of members) {
    const hostile = member.type === 'string' ? [...VALUES, ...LONG_TEXTS] : VALUES;
    for (const text of boundsOf(tested, member)) {
      await checkMember(tested, place, text, jsonIn(text), true);
    }
    for (const text of hostile) await checkMember(tested, place, text, jsonIn(text));
    await checkMember(tested, place, undefined, member.default);
  }
}

/**
 * Sends a body with a JSON text at a place, or without the place if the text is undefined.
 *
 * @param wanted the value that the resource must have; undefined if it is unknown
 * @param isBound true: no rule outside the document may reject it
 */
async function checkMember(
  tested: OperationUnderTest,
  place: Place,
  text: string | undefined,
  wanted: unknown,
  isBound = false,
): Promise<void> {
  const { api, document, isCreating, operation, resources } = tested;
  const name = place.join('.');
  const draft = replaceAt(resources.newBody(operation), place, text);
  if (draft === undefined) return;
  if (document.errors(operation.body ?? {}, jsonIn(draft)).length > 0) {
    await checkInvalid(tested, name, text, draft);
    return;
  }
  const isOwn = isCreating && wanted !== undefined && resources.pathReferredTo(place) === undefined;
  // No conflict with an earlier request rejects the value.
  const body = replaceAt(await resources.newBodyWithOthers(operation), place, text);
  const what = `${name} = ${shown(text ?? '(missing)')}`;
  const response = await tested.send({ body, what });
  if (isBound) checkAllowed(tested, response, what);
  if (!isOwn || !isSuccess(response)) return;
  const cause = text === undefined ? `without ${name}, whose default is ${shown(wanted)}` : `to ${what}`;
  const created = resources.add(operation, body, response);
  checkKept(tested, operation, response, place, wanted, cause);
  const read = created && document.at('GET', created.pattern);
  if (read) checkKept(tested, read, await api.send(read, { path: created.path }), place, wanted, cause);
}

/** Requires that a body that differs from its schema is rejected. @param text JSON; undefined: a missing member */
async function checkInvalid(
  tested: OperationUnderTest,
  name: string,
  text: string | undefined,
  body: string,
): Promise<void> {
  const { document, operation } = tested;
  const [error] = document.errors(operation.body ?? {}, jsonIn(body));
  if (!error) return;
  const what = `${name} = ${shown(text ?? '(missing)')}`;
  const response = await tested.send({ what, body });
  // The database may reject what the validation accepts.
  if (isSuccess(response) || (text === 'null' && response.status >= 500)) {
    const difference = `${error.where} ${error.rule}`.trim();
    const fix = text === 'null' ? '. With PartialType, set skipNullProperties: false' : '';
    tested.note(`accepts ${what} (${difference}), which its document forbids${fix}`, `accepts ${name}`);
  }
}

/** Notes a documented value that gets 400. Another rejection has a reason of its own, such as a conflict. */
function checkAllowed(tested: OperationUnderTest, response: TestResponse, what: string): void {
  if (response.status !== 400) return;
  const message = valueAt(jsonIn(response.text), 'message');
  // The value may need another member, such as limits that belong to a plan.
  if (what.includes(' = ') && !`; ${shown(message)}`.includes(`; ${what.split(' = ', 1).join()}`)) return;
  const cause = `${codeOf(response)}: ${shown(message)}`;
  tested.note(`rejects ${what}, which its document allows (${cause})`, `rejects ${what}`);
}

/** Lists JSON texts at the bounds of a schema, beyond them, of another type, and a number with all digits of a double. */
function boundsOf({ document }: OperationUnderTest, schema: Schema): readonly string[] {
  const { type, format, minimum, maximum, minLength = 0, maxLength = MANY, maxItems, enum: choices } = schema;
  const longest = type === 'string' && maxLength < MANY ? [maxLength, maxLength + 1] : [];
  const item = document.exampleOf(schema.items ?? {});
  return [
    ...around(minimum, -1),
    ...around(maximum, 1),
    ...[...(minLength > 0 ? [minLength - 1] : []), ...longest].map((length) => 'x'.repeat(length)),
    ...(choices ? [...choices, `not ${String(choices[0])}`] : []),
    ...(maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, () => item)]),
    // 2^53 + 1, which JavaScript's numbers do not have.
    ...(format === 'int64' ? [9007199254740993n] : []),
    ...(type === 'boolean' ? [true, false] : []),
    ...(type === 'string' ? [' Žofie 🐈 "\\', 7] : ['7']),
    ...(type === 'integer' ? [1.5] : []),
    ...(type === 'number' && format !== 'float' ? [Math.max(minimum ?? 0, 0) + 1 / 3] : []),
    null,
  ].map(jsonOf);
}

/** Returns a bound, and the value beyond it. */
function around(bound: number | bigint | undefined, step: -1 | 1): (number | bigint)[] {
  return bound === undefined ? [] : [bound, typeof bound === 'bigint' ? bound + BigInt(step) : bound + step];
}

/** Notes a value that a response lacks, unless its class has no such member. @param by the operation that responds */
function checkKept(
  tested: OperationUnderTest,
  by: Operation,
  { text }: TestResponse,
  place: Place,
  wanted: unknown,
  cause: string,
): void {
  // A batch takes a member with items, and responds with a list of them.
  const at = place.slice(isBatch(by) ? 1 : isBatch(tested.operation) ? 2 : 0);
  const got = valueAt(jsonIn(text), ...at);
  const schema = tested.document.placesOf(by.success ?? {}).find(([each]) => each.join() === at.join())?.[1];
  const isDouble = schema?.type === 'number' && schema.format !== 'int64';
  const printed = (value: unknown) => jsonOf(isDouble && typeof value === 'bigint' ? Number(value) : value);
  if (printed(got) === printed(wanted) || (got === undefined && !schema)) return;
  const name = place.join('.');
  tested.note(`responds with ${name} = ${shown(got)} ${cause}`, `changes ${name} ${typeof wanted}`);
}

/** `Location` leads to a resource with the id of the response, unless nothing or not this key may read it. */
async function checkLocation({ api }: OperationUnderTest, { operation, response }: Resource) {
  const path = pathOfLink(response.headers.location);
  if (path === undefined) return;
  const found = await api.request(path);
  if (found.status === 403 || found.status === 405) return;
  const [id, wanted] = [found, response].map(({ text }) => jsonOf(valueAt(jsonIn(text), 'id')));
  if (isSuccess(found) && id === wanted) return;
  const got = isSuccess(found) ? 'with another id' : found.status;
  const location = shown(response.headers.location);
  api.note(operation.title, `responds with the Location ${location}, where GET responds ${got}`);
}
