import { isSuccess, pathOfLink, shown } from '../api';
import { isBatch, type Schema } from '../api-document';
import { changedAt, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import type { Resource } from '../resources';
import type { OperationUnderTest, Promises } from './operation-under-test';

const MAX_LENGTH = 10_000;

/** Exact values, defaults and members that a change does not name. */
export const exactPromises: Promises = {
  async 'a creation keeps each value exactly, has its defaults, and its Location leads to it'(tested) {
    const { isCreating, operation, resources } = tested;
    const first = isCreating && (await resources.create(operation));
    if (!first) return;
    await checkLocation(tested, first);
    for (const [place, member] of tested.members) {
      if (resources.pathReferredTo(place) !== undefined) continue;
      for (const text of exactValues(member)) await checkExact(tested, place, text);
      if (member.default !== undefined) await checkExact(tested, place, undefined, member.default);
    }
  },

  // Each change is made to a resource of its own.
  async 'a change keeps what it does not name, and takes each value of an enumeration'(tested) {
    const { api, document, members, operation, resources } = tested;
    const read = tested.readAt(operation.path);
    if (operation.method !== 'PATCH' || !tested.isAllowed || !read) return;
    const example = document.exampleOf(operation.body ?? {});
    const changes = members
      .filter(([{ length }]) => length === 1)
      .flatMap(([place, member]) =>
        (member.enum ?? [valueAt(example, ...place)]).map((value) => [place, value] as const),
      );
    for (const [place, value] of changes) {
      const resource = await resources.createAt(operation.path);
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
  },
};

/** Lists JSON texts: the bounds of a member's schema, its enumeration, null, and other values that it allows. */
function exactValues({ type, format, minimum, maximum, maxLength, enum: choices = [] }: Schema): string[] {
  const bounds = [minimum, maximum, ...choices].filter((bound) => bound !== undefined).map(jsonOf);
  // 2^53 + 1, which JavaScript's numbers do not have.
  if (format === 'int64') bounds.push('9007199254740993');
  if (type === 'string') bounds.push(jsonOf(' Žofie 🐈 "\\'));
  if (maxLength !== undefined && maxLength <= MAX_LENGTH) bounds.push(jsonOf('x'.repeat(maxLength)));
  return [...bounds, 'null'];
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
  const body = replaceAt(example, place, text);
  if (body === undefined || document.errors(operation.body ?? {}, jsonIn(body)).length > 0) return;
  const name = place.join('.');
  const what = `${name} = ${text === undefined ? '(missing)' : shown(text)}`;
  const cause = text === undefined ? `without ${name}, whose default is ${shown(wanted)}` : `to ${what}`;
  const response = await tested.send({ body, what });
  if (response.status === 400) tested.note(`rejects ${what}, which its document allows`);
  if (!isSuccess(response)) return;
  const created = resources.add(operation, body, response);
  // A member of the first item of a batch is one of the first resource.
  const inResource = isBatch(operation) ? place.slice(2) : place;
  const found = [[jsonIn(response.text)].flat()[0]];
  const read = created && tested.readAt(created.pattern);
  if (read) found.push(jsonIn((await api.send(read, { path: created.path })).text));
  const wrong = found.map((each) => valueAt(each, ...inResource)).find((got) => !isSame(got, wanted));
  if (wrong !== undefined) tested.note(`responds with ${name} = ${shown(wrong)} ${cause}`);
}

/** The serializer prints null as an empty text or 0 unless the schema of the response is nullable. */
function isSame(got: unknown, wanted: unknown): boolean {
  if (wanted === null) return got !== '' && got !== 0 && got !== false;
  return got === undefined || jsonOf(got) === jsonOf(wanted);
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
