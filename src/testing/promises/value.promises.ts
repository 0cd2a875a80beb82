import { codeOf, isSuccess, shown } from '../api';
import { encoded, type Parameter, parametersIn, type Schema, withQuery } from '../api-document';
import { changedAt, isMembers, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import { UNKNOWN_IDS } from '../resources';
import { BODIES, hostileValues, invalidValues, PARAMETERS } from './hostile-values';
import type { ApiPromise, OperationUnderTest } from './operation-under-test';

/** More of one parameter would make the URL too long. */
const MAX_REPEATED = 500;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;

const appliesTo = ({ isAllowed, operation, resources }: OperationUnderTest) =>
  isAllowed && resources.isOwn(operation);

/** Values of bodies and parameters: invalid ones are rejected, and none is a 5xx. */
export const valuePromises: readonly ApiPromise[] = [
  { title: 'an unknown id gets 404', appliesTo, check: checkPath },
  {
    title: 'an invalid value gets 400 and changes nothing',
    appliesTo,
    async check(tested) {
      if (tested.isThorough) await checkExamples(tested);
      for (const parameter of parametersIn(tested.operation, 'query')) await checkQuery(tested, parameter);
      if (tested.operation.body) await checkBody(tested, tested.operation.body);
    },
  },
];

async function checkPath(tested: OperationUnderTest): Promise<void> {
  const { isThorough, operation, resources } = tested;
  const last = parametersIn(operation, 'path').at(-1);
  if (!last || !operation.path.endsWith('}')) return;
  const send = (id: string) =>
    tested.sendExample({ path: resources.pathOf(operation, id), what: `${last.name} = ${shown(id)}` });
  for (const value of isThorough ? PARAMETERS : ['x']) await send(value);
  if (operation.object.responses['404'] === undefined) return;
  for (const id of UNKNOWN_IDS.slice(0, isThorough ? 2 : 1)) {
    const { status } = await send(id);
    if (status === 404 || status === 400) continue;
    tested.note(`responds ${status} if ${last.name} is unknown, and documents 404`);
  }
}

/** A documented example is accepted, or rejected for a reason of its own, such as a conflict. */
async function checkExamples(tested: OperationUnderTest): Promise<void> {
  const { document, operation, path, resources } = tested;
  const body = resources.newBody(operation);
  const requests: [what: string, path: string, body: unknown][] = [['the documented example', path, body]];
  // The resource may exist now.
  if (body !== undefined) requests.push(['the documented example, sent again', path, body]);
  for (const { name, example, schema } of parametersIn(operation, 'query')) {
    for (const value of document.schema(schema).enum ?? [example ?? document.exampleOf(schema)]) {
      if (value === undefined) continue;
      const query = withQuery(path, name, value);
      requests.push([`${name} = ${shown(value)}`, query, resources.newBody(operation)]);
    }
  }
  for (const [what, target, own] of requests) {
    const response = await tested.send({ path: target, body: own, what });
    if (response.status !== 400) continue;
    const message = shown(valueAt(jsonIn(response.text), 'message'));
    tested.note(
      `rejects ${what} (${codeOf(response)}: ${message})`,
      `rejects ${what.replace(', sent again', '')}`,
    );
  }
}

/** A parameter is sent as it is written in the URL; a list is a repeated parameter. */
async function checkQuery(tested: OperationUnderTest, { name, schema: reference }: Parameter): Promise<void> {
  const { document, isThorough, path } = tested;
  const schema = document.schema(reference);
  const { type, maxItems = Infinity, items = {} } = schema;
  const own = invalidValues(schema, 1).map((text) => encodeURIComponent(text.replace(/^"(.*)"$/, '$1')));
  // All lists take the parameters of pages from one class.
  const hostile = ['limit', 'cursor', 'sort'].includes(name) ? [] : PARAMETERS;
  const attempts = (isThorough ? ['', ...own, ...hostile] : own.slice(0, 3)).map(
    (value): [query: string, what: string, isValid: boolean] => [
      `${name}=${value}`,
      `${name} = ${shown(value)}`,
      allows(tested, schema, new URLSearchParams(`value=${value}`).get('value') ?? ''),
    ],
  );
  if (type === 'array' && maxItems <= MAX_REPEATED) {
    const item = document.exampleOf(items) ?? 1;
    const query = Array.from({ length: maxItems + 1 }, () => `${name}=${encoded(item)}`).join('&');
    attempts.push([query, `${name} = ${shown(item)} (${maxItems + 1} times)`, false]);
  }
  attempts.push([`${name}=1&${name}=2`, `${name} = (twice)`, true], [`${name}[a]=1`, `${name}[a] = 1`, true]);
  for (const [query, what, isValid] of attempts) {
    if (isValid && !isThorough) continue;
    const target = `${path}${path.includes('?') ? '&' : '?'}${query}`;
    const { status } = await tested.sendExample({ path: target, what });
    if (status < 300 && !isValid) noteAccepted(tested, what, name);
  }
}

function allows({ document }: OperationUnderTest, schema: Schema, text: string): boolean {
  const { type, items } = schema;
  const single = items === undefined ? type : document.schema(items).type;
  const isNumber = single === 'integer' || single === 'number';
  const item = isNumber && PLAIN_NUMBER.test(text) ? (jsonIn(text) ?? Number(text)) : text;
  return single === 'boolean' || document.errors(schema, items === undefined ? item : [item]).length === 0;
}

/** A body that differs from its schema must not be accepted. */
async function checkBody(tested: OperationUnderTest, schema: Schema): Promise<void> {
  const { document, isThorough } = tested;
  const malformed = await tested.send({ body: '{', what: 'body = {' });
  tested.requires(malformed, 'to body = {', '400 malformed_json');
  const headers = { 'content-type': 'text/plain' };
  const plain = await tested.send({ body: 'name=Rex', headers, what: 'body = name=Rex' });
  tested.requires(plain, 'to body = name=Rex', '415 unsupported_media_type');
  for (const [place, text, body] of bodiesOf(tested)) {
    const [error] = body === undefined ? [] : document.errors(schema, jsonIn(body));
    // A value that the schema allows would only create more resources of a deployment.
    if (body === undefined || (!error && !isThorough)) continue;
    const name = place.join('.');
    const what = `${name} = ${shown(text)}`;
    const response = await tested.send({ what, body });
    if (!error) continue;
    const rule = `${error.where} ${error.rule}`.trim();
    if (isSuccess(response)) noteAccepted(tested, `${what} (${rule})`, name);
    if (response.status === 400 && !isThorough) {
      tested.requires(response, `to ${what}`, '400 validation_failed');
    }
  }
}

/** Lists bodies with a varied place, and the text there. The body is undefined if it has no such place. */
function* bodiesOf(tested: OperationUnderTest): Generator<[Place, text: string, body: string | undefined]> {
  const { api, document, isThorough, operation, resources } = tested;
  const newBody = () => resources.newBody(operation);
  // All operations have one parser, so the first gets what others need not.
  const isFirst = operation === api.operations.find(({ body }) => body !== undefined);
  const bodies = isThorough ? BODIES.slice(0, isFirst ? BODIES.length : 2) : [];
  for (const text of [...bodies, '{}']) yield [['body'], text, text];
  for (const [place, member] of tested.members) {
    const invalid = invalidValues(member, document.exampleOf(member.items ?? {}));
    for (const text of isThorough ? new Set([...hostileValues(member), ...invalid]) : invalid.slice(0, 3)) {
      yield [place, text, replaceAt(newBody(), place, text)];
    }
    const without = changedAt(newBody(), place, undefined);
    yield [place, '(missing)', without === undefined ? undefined : jsonOf(without)];
  }
  const example = newBody();
  for (const [name, value] of isThorough && isMembers(example) ? Object.entries(example) : []) {
    const twice = `{${jsonOf(name)}:${jsonOf([value])},${jsonOf(example).slice(1)}`;
    yield [['body'], twice, twice];
  }
}

function noteAccepted(tested: OperationUnderTest, what: string, place: string): void {
  tested.note(`accepts ${what}, which its document forbids`, `accepts ${place}`);
}
