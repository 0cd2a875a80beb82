import { isSuccess, shown } from '../api';
import { changedAt, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import { isCreation, type Resource } from '../resources';
import { boundaryValues } from './hostile-values';
import type { ApiPromise, OperationUnderTest } from './operation-under-test';

/** Exact values, defaults and members that a change does not name. */
export const exactPromises: readonly ApiPromise[] = [
  {
    title: 'a creation keeps each value exactly, has its defaults, and its Location leads to it',
    appliesTo: ({ isCreating }) => isCreating,
    check: checkCreation,
  },
  {
    title: 'a change keeps what it does not name, and takes each value of an enumeration',
    appliesTo: ({ operation, isAllowed }) => operation.method === 'PATCH' && isAllowed,
    check: checkChange,
  },
];

async function checkCreation(tested: OperationUnderTest): Promise<void> {
  const { operation, resources } = tested;
  const first = await resources.create(operation);
  if (first) await checkLocation(tested, first);
  for (const [place, member] of tested.members) {
    if (resources.isReference(place)) continue;
    const values = [...boundaryValues(member), 'null', ...(member.enum ?? []).map(jsonOf)];
    for (const text of values) await checkExact(tested, place, text);
    if (member.default !== undefined && first) await checkDefault(tested, place, member.default);
  }
}

async function checkDefault(tested: OperationUnderTest, place: Place, wanted: unknown): Promise<void> {
  const { operation, resources } = tested;
  const body = changedAt(await resources.newBodyWithOthers(operation), place, undefined);
  const response = await tested.send({ body });
  if (!isSuccess(response)) return;
  resources.add(operation, body, response);
  const got = valueAt(jsonIn(response.text), ...place);
  if (jsonOf(got) === jsonOf(wanted)) return;
  const name = place.join('.');
  tested.note(`responds with ${name} = ${shown(got)} without ${name}, whose default is ${shown(wanted)}`);
}

/** The response to a creation, and the created resource, have the sent value. */
async function checkExact(tested: OperationUnderTest, place: Place, text: string): Promise<void> {
  const { api, document, operation, resources } = tested;
  const body = replaceAt(await resources.newBodyWithOthers(operation), place, text);
  if (body === undefined || document.errors(operation.body ?? {}, jsonIn(body)).length > 0) return;
  const wanted = jsonIn(text);
  const name = place.join('.');
  const what = `${name} = ${shown(wanted === null ? null : text)}`;
  const response = await tested.send({ body, what });
  if (response.status === 400) tested.note(`rejects ${what}, which its document allows`);
  if (!isSuccess(response)) return;
  const created = resources.add(operation, body, response);
  const texts = [response.text];
  const read = tested.readAt(created.pattern);
  if (read) texts.push((await api.send(read, { path: created.path })).text);
  const wrong = texts.map((each) => valueAt(jsonIn(each), ...place)).find((got) => !isSame(got, wanted));
  if (wrong !== undefined) tested.note(`responds with ${name} = ${shown(wrong)} to ${what}`);
}

/** `Location` leads to the created resource, as the response of the creation has it. */
async function checkLocation(tested: OperationUnderTest, { path, pattern, response }: Resource) {
  const { api, operation } = tested;
  const read = tested.document.at('GET', pattern);
  if (!isCreation(operation) || (read && !api.may(read))) return;
  const found = await api.target.send(path, { key: api.key });
  const isThere = read ? found.text === response.text : found.status !== 404;
  if (isThere) return;
  const location = shown(response.headers.location);
  const difference = read ? ' with another body' : '';
  tested.note(`responds with the Location ${location}, where GET responds ${found.status}${difference}`);
}

/** Each change is made to a resource of its own. */
async function checkChange(tested: OperationUnderTest): Promise<void> {
  const { document, operation } = tested;
  for (const [place, member] of tested.members.filter(([{ length }]) => length === 1)) {
    const example = valueAt(document.exampleOf(operation.body ?? {}), ...place);
    for (const value of document.schema(member).enum ?? [example]) await checkMember(tested, place, value);
  }
}

async function checkMember(tested: OperationUnderTest, place: Place, value: unknown): Promise<void> {
  const { api, operation, resources } = tested;
  const read = tested.readAt(operation.path);
  const resource = read && (await resources.createAt(operation.path));
  if (!resource) return;
  const { path } = resource;
  const before = jsonIn((await api.send(read, { path })).text);
  const what = `${place.join('.')} = ${shown(value)}`;
  const changed = await tested.send({ path, body: changedAt({}, place, value), what });
  if (!isSuccess(changed)) return;
  const after = jsonIn(changed.text);
  for (const [other] of tested.members) {
    const [was, is] = [before, after].map((each) => jsonOf(valueAt(each, ...other)));
    const wanted = other[0] === place[0] ? jsonOf(value) : was;
    if (is === wanted || valueAt(after, ...other) === undefined) continue;
    tested.note(`responds with ${other.join('.')} = ${is} to ${what}, and must respond with ${wanted}`);
  }
}

/** The serializer prints null as an empty text or 0 unless the schema of the response is nullable. */
function isSame(got: unknown, wanted: unknown): boolean {
  if (wanted === null) return got !== '' && got !== 0 && got !== false;
  return got === undefined || jsonOf(got) === jsonOf(wanted);
}
