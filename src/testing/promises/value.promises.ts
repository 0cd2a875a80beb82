import { codeOf, isSuccess, shown } from '../api';
import { type Parameter, parametersIn, type Schema, withQuery } from '../api-document';
import { changedAt, isMembers, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import { UNKNOWN_IDS } from '../resources';
import { BODIES, HOSTILE_VALUES, invalidValues, PARAMETERS } from './hostile-values';
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
  const isAccepted = await requireAccepted(tested, path, 'the documented example', body);
  // The resource may exist now.
  if (isAccepted && body !== undefined) {
    await requireAccepted(tested, path, 'the documented example, sent again', body);
  }
  for (const { name, example, schema } of parametersIn(operation, 'query')) {
    for (const value of document.schema(schema).enum ?? [example ?? document.exampleOf(schema)]) {
      if (value === undefined) continue;
      const what = `${name} = ${shown(value)}`;
      await requireAccepted(tested, withQuery(path, name, value), what, resources.newBody(operation));
    }
  }
}

async function requireAccepted(tested: OperationUnderTest, path: string, what: string, body: unknown) {
  const response = await tested.send({ path, body, what });
  if (response.status !== 400) return true;
  const message = shown(valueAt(jsonIn(response.text), 'message'));
  tested.note(`rejects ${what} (${codeOf(response)}: ${message})`);
  return false;
}

/** A parameter is sent as it is written in the URL; a list is a repeated parameter. */
async function checkQuery(tested: OperationUnderTest, { name, schema: reference }: Parameter): Promise<void> {
  const { document, isThorough, path } = tested;
  const schema = document.schema(reference);
  const send = async (query: string, what: string, isValid: boolean) => {
    const { status } = await tested.sendExample({ path: query, what });
    if (status < 300 && !isValid) noteAccepted(tested, what, name);
  };
  const own = invalidValues(schema, 1).map((text) => encodeURIComponent(text.replace(/^"(.*)"$/, '$1')));
  // All lists take the parameters of pages from one class.
  const hostile = ['limit', 'cursor', 'sort'].includes(name) ? [] : PARAMETERS;
  for (const value of isThorough ? ['', ...own, ...hostile] : own.slice(0, 3)) {
    const isValid = allows(tested, schema, decoded(value));
    if (isValid && !isThorough) continue;
    await send(`${withQuery(path, name, 'X').slice(0, -1)}${value}`, `${name} = ${shown(value)}`, isValid);
  }
  const { type, maxItems = Infinity, items = {} } = schema;
  if (type === 'array' && maxItems <= MAX_REPEATED) {
    const item = document.exampleOf(items) ?? 1;
    const values = Array.from({ length: maxItems + 1 }, () => item);
    const what = `${name} = ${shown(item)} (${values.length} times)`;
    await send(withQuery(path, name, values), what, false);
  }
  if (!isThorough) return;
  await send(`${withQuery(path, name, '1')}&${name}=2`, `${name} = (twice)`, true);
  await send(withQuery(path, `${name}[a]`, '1'), `${name}[a] = 1`, true);
}

function allows({ document }: OperationUnderTest, schema: Schema, text: string): boolean {
  const { type, items } = schema;
  const single = items === undefined ? type : document.schema(items).type;
  const isNumber = single === 'integer' || single === 'number';
  const item = isNumber && PLAIN_NUMBER.test(text) ? (jsonIn(text) ?? Number(text)) : text;
  return single === 'boolean' || document.errors(schema, items === undefined ? item : [item]).length === 0;
}

async function checkBody(tested: OperationUnderTest, schema: Schema): Promise<void> {
  const { document, isThorough, operation, resources } = tested;
  await checkUnreadable(tested);
  const requireRejected = async (body: string, accepted: string, place: string) => {
    const response = await tested.send({ what: `body = ${shown(body)}`, body });
    if (isSuccess(response)) noteAccepted(tested, accepted, place);
  };
  for (const text of isThorough ? BODIES : []) await requireRejected(text, `body = ${shown(text)}`, 'body');
  await checkMember(tested, schema, ['body'], '{}', '{}');
  for (const [place, member] of tested.members) {
    const invalid = invalidValues(member, document.exampleOf(member.items ?? {}));
    for (const text of isThorough ? new Set([...HOSTILE_VALUES, ...invalid]) : invalid.slice(0, 3)) {
      await checkMember(tested, schema, place, replaceAt(resources.newBody(operation), place, text), text);
    }
    const without = changedAt(resources.newBody(operation), place, undefined);
    await checkMember(
      tested,
      schema,
      place,
      without === undefined ? undefined : jsonOf(without),
      '(missing)',
    );
  }
  const example = resources.newBody(operation);
  for (const [name, value] of isThorough && isMembers(example) ? Object.entries(example) : []) {
    const text = `{${jsonOf(name)}:${jsonOf([value])},${jsonOf(example).slice(1)}`;
    await requireRejected(text, 'a body with two members of one name', 'duplicate');
  }
}

/** The body cannot be read, before its members matter. */
async function checkUnreadable(tested: OperationUnderTest): Promise<void> {
  const attempts = [
    ['{', {}, 400, 'malformed_json'],
    ['name=Rex', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
  ] as const;
  for (const [body, headers, status, code] of attempts) {
    const what = `body = ${body}`;
    const response = await tested.send({ body, headers, what });
    if (response.status === status && codeOf(response) === code) continue;
    tested.noteResponse(`${response.status} ${codeOf(response)}`, `to ${what}`, `${status} ${code}`);
  }
}

/** A body that differs from its schema must not be accepted. @param text the varied value in the body */
async function checkMember(
  tested: OperationUnderTest,
  schema: Schema,
  place: Place,
  body: string | undefined,
  text: string,
): Promise<void> {
  if (body === undefined) return;
  const [error] = tested.document.errors(schema, jsonIn(body));
  // A value that the schema allows would only create more resources of a deployment.
  if (!error && !tested.isThorough) return;
  const name = place.join('.');
  const what = `${name} = ${shown(text)}`;
  const response = await tested.send({ what, body });
  const code = codeOf(response);
  if (!error) return;
  if (isSuccess(response)) noteAccepted(tested, `${what} (${`${error.pointer} ${error.rule}`.trim()})`, name);
  if (response.status === 400 && code !== 'validation_failed' && !tested.isThorough) {
    tested.noteResponse(`400 ${code}`, `to ${what}`, 'validation_failed');
  }
}

function noteAccepted(tested: OperationUnderTest, what: string, place: string): void {
  tested.note(`accepts ${what}, which its document forbids`, `accepts ${place}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
