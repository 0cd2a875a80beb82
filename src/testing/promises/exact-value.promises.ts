import { isSuccess, pathOfLink, shown } from '../api';
import { isBatch, type Operation, type Schema } from '../api-document';
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
    for (const { body, response } of resources.created.filter((each) => each.operation === operation)) {
      for (const [place] of tested.members) {
        const sent = valueAt(body, ...place);
        // Members of objects have places of their own.
        if (sent === undefined || (typeof sent === 'object' && sent !== null)) continue;
        checkKept(tested, operation, response.text, place, sent, `to ${place.join('.')} = ${shown(sent)}`);
      }
    }
    for (const [place, member] of tested.members) {
      if (resources.pathReferredTo(place) !== undefined) continue;
      for (const text of exactValues(member)) await checkExact(tested, place, text);
      if (member.default !== undefined) await checkExact(tested, place, undefined, member.default);
    }
  },

  // Each change is made to a resource of its own.
  async 'a change keeps what it does not name, and takes each value of an enumeration'(tested) {
    const { api, members, operation, resources } = tested;
    const read = tested.readAt(operation.path);
    if (operation.method !== 'PATCH' || !tested.isAllowed || !read) return;
    // Texts that no earlier body has, so a constant is not the same.
    const example = resources.newBody(operation);
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
      if (!isSuccess(changed)) continue;
      for (const [other] of members) {
        const wanted = valueAt(other[0] === place[0] ? changedAt({}, place, value) : before, ...other);
        const cause = `to ${what}, and must respond with ${shown(wanted)}`;
        checkKept(tested, operation, changed.text, other, wanted, cause);
      }
    }
  },
};

/** Lists JSON texts: the bounds of a member's schema, its enumeration, null, and other values that it allows. */
function exactValues({ type, format, minimum, maximum, maxLength, enum: choices = [] }: Schema): string[] {
  const bounds = [minimum, maximum, ...choices].filter((bound) => bound !== undefined).map(jsonOf);
  // 2^53 + 1, which JavaScript's numbers do not have.
  if (format === 'int64') bounds.push('9007199254740993');
  if (type === 'boolean') bounds.push('true', 'false');
  if (type === 'string') bounds.push(jsonOf(' Žofie 🐈 "\\'));
  if (maxLength !== undefined && maxLength <= MAX_LENGTH) bounds.push(jsonOf('x'.repeat(maxLength)));
  return [...bounds, 'null'];
}

/** Compares a creation, and the resource, with a sent value. @param text JSON; undefined: the default is expected */
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
  checkKept(tested, operation, response.text, place, wanted, cause);
  const read = created && tested.readAt(created.pattern);
  const found = read && (await api.send(read, { path: created.path }));
  if (found) checkKept(tested, read, found.text, place, wanted, cause);
}

/** Notes a value that a response lacks, unless its class has no such member. @param by the operation that responds */
function checkKept(
  tested: OperationUnderTest,
  by: Operation,
  text: string,
  place: Place,
  wanted: unknown,
  cause: string,
): void {
  // A batch takes a member with items, and responds with a list of them.
  const at = place.slice(isBatch(by) ? 1 : isBatch(tested.operation) ? 2 : 0);
  const got = valueAt(jsonIn(text), ...at);
  const known = tested.document.placesOf(by.success ?? {}).map(([each]) => jsonOf(each));
  const isLeftOut = got === undefined && (wanted === null || !known.includes(jsonOf(at)));
  if (isLeftOut || got === wanted || (got !== undefined && jsonOf(got) === jsonOf(wanted))) return;
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
