import { isSuccess, shown } from '../api';
import { changedAt, isMembers, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
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
    if (member.default !== undefined && first) await checkExact(tested, place, undefined, member.default);
  }
}

/**
 * Compares the response to a creation, and the created resource, with the sent value.
 *
 * @param text JSON; undefined: the member is left out, and its default is expected
 */
async function checkExact(
  tested: OperationUnderTest,
  place: Place,
  text: string | undefined,
  wanted = jsonIn(text ?? ''),
): Promise<void> {
  const { api, document, operation, resources } = tested;
  const example = await resources.newBodyWithOthers(operation);
  const body =
    text === undefined ? jsonOf(changedAt(example, place, undefined)) : replaceAt(example, place, text);
  if (body === undefined || document.errors(operation.body ?? {}, jsonIn(body)).length > 0) return;
  const name = place.join('.');
  const what = `${name} = ${shown(wanted === null ? null : (text ?? wanted))}`;
  const cause = text === undefined ? `without ${name}, whose default is ${shown(wanted)}` : `to ${what}`;
  const response = await tested.send({ body, what });
  if (response.status === 400) tested.note(`rejects ${what}, which its document allows`);
  if (!isSuccess(response)) return;
  const created = resources.add(operation, body, response);
  const texts = [response.text];
  const read = tested.readAt(created.pattern);
  if (read) texts.push((await api.send(read, { path: created.path })).text);
  const wrong = texts.map((each) => valueAt(jsonIn(each), ...place)).find((got) => !isSame(got, wanted));
  if (wrong !== undefined) tested.note(`responds with ${name} = ${shown(wrong)} ${cause}`);
}

/** `Location` leads to the created resource: it has each member of the creation's response, and may have more. */
async function checkLocation(tested: OperationUnderTest, { path, pattern, response }: Resource) {
  const { api, operation } = tested;
  const read = tested.document.at('GET', pattern);
  if (!isCreation(operation) || (read && !api.may(read))) return;
  const found = await api.target.send(path, { key: api.key });
  const isThere = read ? hasMembersOf(jsonIn(found.text), jsonIn(response.text)) : found.status !== 404;
  if (isThere) return;
  const location = shown(response.headers.location);
  const difference = read ? ' with another body' : '';
  tested.note(`responds with the Location ${location}, where GET responds ${found.status}${difference}`);
}

/** Each change is made to a resource of its own. */
async function checkChange(tested: OperationUnderTest): Promise<void> {
  const { api, document, members, operation, resources } = tested;
  const read = tested.readAt(operation.path);
  const example = document.exampleOf(operation.body ?? {});
  const changes = members
    .filter(([{ length }]) => length === 1)
    .flatMap(([place, member]) =>
      (member.enum ?? [valueAt(example, ...place)]).map((value) => [place, value] as const),
    );
  for (const [place, value] of changes) {
    const resource = read && (await resources.createAt(operation.path));
    if (!resource) return;
    const { path } = resource;
    const before = jsonIn((await api.send(read, { path })).text);
    const what = `${place.join('.')} = ${shown(value)}`;
    const changed = await tested.send({ path, body: changedAt({}, place, value), what });
    const after = isSuccess(changed) ? jsonIn(changed.text) : undefined;
    for (const [other] of members) {
      const [was, is] = [before, after].map((each) => jsonOf(valueAt(each, ...other)));
      const wanted = other[0] === place[0] ? jsonOf(value) : was;
      if (is === wanted || valueAt(after, ...other) === undefined) continue;
      tested.note(`responds with ${other.join('.')} = ${is} to ${what}, and must respond with ${wanted}`);
    }
  }
}

function hasMembersOf(found: unknown, created: unknown): boolean {
  const names = isMembers(created) ? Object.keys(created) : [];
  return names.every((name) => jsonOf(valueAt(found, name)) === jsonOf(valueAt(created, name)));
}

/** The serializer prints null as an empty text or 0 unless the schema of the response is nullable. */
function isSame(got: unknown, wanted: unknown): boolean {
  if (wanted === null) return got !== '' && got !== 0 && got !== false;
  return got === undefined || jsonOf(got) === jsonOf(wanted);
}
