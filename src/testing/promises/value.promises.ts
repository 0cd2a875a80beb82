import { codeOf, isSuccess, shown } from '../api';
import { encoded, type Parameter, parametersIn, type Schema, withQuery } from '../api-document';
import { jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import { UNKNOWN_IDS } from '../resources';
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

/** Values of bodies and parameters: invalid ones are rejected, and none is a 5xx. */
export const valuePromises: Promises = {
  async 'an unknown id gets 404'(tested) {
    const { isThorough, operation, resources } = tested;
    const last = parametersIn(operation, 'path').at(-1);
    if (!last || !operation.path.endsWith('}') || !isSafe(tested)) return;
    const send = (id: string) =>
      tested.sendExample({ path: resources.pathOf(operation, id), what: `${last.name} = ${shown(id)}` });
    for (const value of isThorough ? PARAMETERS : []) await send(value);
    for (const id of operation.responses['404'] ? UNKNOWN_IDS : []) {
      const { status } = await send(id);
      if (status === 404 || status === 400) continue;
      tested.note(`responds ${status} if ${last.name} is unknown, and documents 404`);
    }
  },

  async 'an invalid value gets 400 and changes nothing'(tested) {
    const { isThorough, operation } = tested;
    if (!isSafe(tested)) return;
    // No other promise calls an action on a resource, such as a rotation.
    const isAction = operation.method === 'POST' && operation.path.includes('{') && !tested.isCreating;
    if (isThorough || isAction) await checkExamples(tested);
    for (const parameter of parametersIn(operation, 'query')) await checkQuery(tested, parameter);
    if (operation.body) await checkBody(tested, operation.body);
  },
};

/** True if the operation can only succeed for what this run created. */
function isSafe({ isAllowed, operation, resources }: OperationUnderTest): boolean {
  return isAllowed && resources.isOwn(operation);
}

/** A documented example is accepted, or rejected for a reason of its own, such as a conflict. */
async function checkExamples(tested: OperationUnderTest): Promise<void> {
  const { document, operation, path, resources } = tested;
  const plain = { path, body: resources.newBody(operation), what: 'the documented example' };
  // The resource may exist the second time.
  const requests = [plain, plain];
  for (const { name, example, schema } of parametersIn(operation, 'query')) {
    for (const value of document.schema(schema).enum ?? [example]) {
      if (value === undefined) continue;
      const body = resources.newBody(operation);
      requests.push({ path: withQuery(path, name, value), body, what: `${name} = ${shown(value)}` });
    }
  }
  for (const request of requests) {
    const response = await tested.send(request);
    if (response.status !== 400) continue;
    const message = shown(valueAt(jsonIn(response.text), 'message'));
    tested.note(`rejects ${request.what} (${codeOf(response)}: ${message})`, `rejects ${request.what}`);
  }
}

/** A parameter is sent as it is written in the URL; a list is a repeated parameter. */
async function checkQuery(tested: OperationUnderTest, { name, schema: reference }: Parameter): Promise<void> {
  const { document, isThorough, path } = tested;
  const schema = document.schema(reference);
  const { type, maxItems = Infinity, items } = schema;
  const own = invalidValues(schema, 1).map((text) => encodeURIComponent(text.replace(/^"(.*)"$/, '$1')));
  // All lists take the parameters of pages from one class.
  const hostile = PAGING.has(name) ? [] : PARAMETERS;
  const values = isThorough ? ['', ...own, ...hostile, '1'] : own.slice(0, 3);
  const attempts = values.map((value) => [value]);
  const item = encoded(document.exampleOf(items ?? {}) ?? 1);
  if (type === 'array' && maxItems <= MAX_REPEATED) attempts.push(Array(maxItems + 1).fill(item));
  for (const sent of attempts) {
    const query = sent.map((value) => `${name}=${value}`).join('&');
    const texts = new URLSearchParams(query).getAll(name);
    const { type: single } = items === undefined ? schema : document.schema(items);
    const parsed = texts.map((text) =>
      /^(integer|number)$/.test(`${single}`) ? (jsonIn(text) ?? text) : text,
    );
    const isValid =
      single === 'boolean' || document.errors(schema, items === undefined ? parsed[0] : parsed).length === 0;
    if (isValid && !isThorough) continue;
    const times = sent.length > 1 ? ` (${sent.length} times)` : '';
    const what = `${name} = ${shown(sent[0])}${times}`;
    const target = `${path}${path.includes('?') ? '&' : '?'}${query}`;
    const { status } = await tested.sendExample({ path: target, what });
    if (status >= 300 || isValid) continue;
    tested.note(`accepts ${what}, which its document forbids`, `accepts ${name}`);
  }
}

/** A body that differs from its schema must not be accepted. */
async function checkBody(tested: OperationUnderTest, schema: Schema): Promise<void> {
  const { document, isThorough } = tested;
  for (const [body, type, wanted] of [
    ['{', 'application/json', '400 malformed_json'],
    ['name=Rex', 'text/plain', '415 unsupported_media_type'],
  ] as const) {
    const what = `body = ${body}`;
    const response = await tested.send({ body, headers: { 'content-type': type }, what });
    tested.requires(response, `to ${what}`, wanted);
  }
  for (const [place, text, body] of bodiesOf(tested)) {
    const [error] = body === undefined ? [] : document.errors(schema, jsonIn(body));
    // A value that the schema allows would only create more resources of a deployment.
    if (body === undefined || (!error && !isThorough)) continue;
    const name = place.join('.');
    const what = `${name} = ${shown(text)}`;
    const response = await tested.send({ what, body });
    // The database may reject what the validation accepts.
    const isAccepted = isSuccess(response) || (text === 'null' && response.status >= 500);
    if (error && isAccepted) {
      const difference = `${error.where} ${error.rule}`.trim();
      const fix = text === 'null' ? '. With PartialType, set skipNullProperties: false' : '';
      tested.note(`accepts ${what} (${difference}), which its document forbids${fix}`, `accepts ${name}`);
    } else if (error && response.status === 400 && !isThorough) {
      tested.requires(response, `to ${what}`, '400 validation_failed');
    }
  }
}

/** Lists bodies with a varied place, and the text there. The body is undefined if it has no such place. */
function* bodiesOf(tested: OperationUnderTest): Generator<[Place, text: string, body: string | undefined]> {
  const { api, document, isThorough, operation, resources } = tested;
  // All operations have one parser, so the first gets what others need not.
  const isFirst = operation === api.operations.find(({ body }) => body !== undefined);
  for (const text of [...(isThorough && isFirst ? BODIES : []), '{}']) yield [['body'], text, text];
  for (const [place, member] of tested.members) {
    const invalid = invalidValues(member, document.exampleOf(member.items ?? {}));
    const hostile = member.type === 'string' ? [...VALUES, ...LONG_TEXTS] : VALUES;
    const texts = isThorough ? new Set([...hostile, ...invalid]) : invalid.slice(0, 3);
    for (const text of [...texts, undefined]) {
      yield [place, text ?? '(missing)', replaceAt(resources.newBody(operation), place, text)];
    }
  }
}

/** Lists JSON texts that break a bound of a schema, or have another type. @param item the example of an item */
function invalidValues(schema: Schema, item: unknown): readonly string[] {
  const { type, minimum, maximum, minLength = 0, maxLength, maxItems, enum: choices, nullable } = schema;
  return [
    minimum === undefined ? [] : beyond(minimum, -1),
    maximum === undefined ? [] : beyond(maximum, 1),
    minLength === 0 ? [] : jsonOf('x'.repeat(minLength - 1)),
    maxLength === undefined || maxLength > MANY ? [] : jsonOf('x'.repeat(maxLength + 1)),
    choices === undefined ? [] : jsonOf(`not ${String(choices[0])}`),
    maxItems === undefined ? [] : jsonOf(Array.from({ length: maxItems + 1 }, () => item)),
    type === 'string' ? '7' : '"7"',
    type === 'integer' ? '1.5' : [],
    nullable === true ? [] : 'null',
  ].flat();
}

function beyond(bound: number | bigint, step: -1 | 1): string {
  return jsonOf(typeof bound === 'bigint' ? bound + BigInt(step) : bound + step);
}
