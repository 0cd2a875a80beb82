import { type Api, isSuccess, shown } from '../api';
import type { Operation, Schema } from '../api-document';
import { changedAt, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import { isCreation, type Resource, type Resources } from '../resources';
import { boundaryValues } from './hostile-values';
import type { ApiPromise } from './promise';

/** Exact values, defaults and members that a change does not name. */
export const exactPromises: readonly ApiPromise[] = [
  {
    title: 'a creation keeps each value exactly, has its defaults, and its Location leads to it',
    async check(api, resources) {
      for (const operation of resources.creating)
        await new ExactValues(api, resources, operation).checkCreation();
    },
  },
  {
    title: 'a change keeps what it does not name, and takes each value of an enumeration',
    async check(api, resources) {
      for (const operation of api.operations.filter((each) => each.method === 'PATCH' && api.may(each))) {
        await new ExactValues(api, resources, operation).checkChange();
      }
    },
  },
];

class ExactValues {
  constructor(
    private readonly api: Api,
    private readonly resources: Resources,
    private readonly operation: Operation,
  ) {}

  async checkCreation(): Promise<void> {
    const { api, operation, resources } = this;
    const first = await resources.create(operation);
    if (first) await this.checkLocation(first);
    for (const [place, member] of this.members()) {
      if (resources.isReference(place.at(-1))) continue;
      const values = [...boundaryValues(member), 'null', ...(member.enum ?? []).map(jsonOf)];
      for (const text of values) await this.checkExact(place, text);
      if (member.default === undefined || !first) continue;
      const body = changedAt(await this.bodyWithOthers(), place, undefined);
      const response = await api.send(operation, { path: resources.pathOf(operation), body });
      if (!isSuccess(response)) continue;
      resources.add(operation, body, response);
      const got = valueAt(jsonIn(response.text), ...place);
      if (jsonOf(got) !== jsonOf(member.default)) {
        const name = place.join('.');
        api.note(
          operation.title,
          `responds with ${name} = ${shown(got)} without ${name}, whose default is ${shown(member.default)}`,
        );
      }
    }
  }

  /** Each change is made to a resource of its own. */
  async checkChange(): Promise<void> {
    const { api, operation, resources } = this;
    const read = api.document.at('GET', operation.path);
    for (const [place, member] of this.members()) {
      if (place.length > 1) continue;
      const example = valueAt(api.document.exampleOf(operation.body ?? {}), ...place);
      for (const value of api.document.schema(member).enum ?? [example]) {
        const resource = await resources.createAt(operation.path);
        if (!resource || !read || !api.may(read)) return;
        const before = jsonIn((await api.send(read, { path: resource.path })).text);
        const what = `${place.join('.')} = ${shown(value)}`;
        const body = changedAt({}, place, value);
        const changed = await api.send(operation, { path: resource.path, body, what });
        if (!isSuccess(changed)) continue;
        const after = jsonIn(changed.text);
        for (const [other] of this.members()) {
          const [was, is] = [before, after].map((each) => jsonOf(valueAt(each, ...other)));
          const wanted = other[0] === place[0] ? jsonOf(value) : was;
          if (is !== wanted && valueAt(after, ...other) !== undefined) {
            api.note(
              operation.title,
              `responds with ${other.join('.')} = ${is} to ${what}, and must respond with ${wanted}`,
            );
          }
        }
      }
    }
  }

  private members(): readonly (readonly [Place, Schema])[] {
    const { body } = this.operation;
    return body === undefined ? [] : this.api.document.placesOf(body);
  }

  private bodyWithOthers(): Promise<unknown> {
    return this.resources.newBodyWithOthers(this.operation);
  }

  /** The response to a creation, and the created resource, have the sent value. */
  private async checkExact(place: Place, text: string): Promise<void> {
    const { api, operation, resources } = this;
    const body = replaceAt(await this.bodyWithOthers(), place, text);
    if (body === undefined || api.document.errors(operation.body ?? {}, jsonIn(body)).length > 0) return;
    const name = place.join('.');
    const what = `${name} = ${shown(jsonIn(text) === null ? null : text)}`;
    const response = await api.send(operation, { path: resources.pathOf(operation), body, what });
    if (response.status === 400) api.note(operation.title, `rejects ${what}, which its document allows`);
    if (!isSuccess(response)) return;
    const created = resources.add(operation, body, response);
    const texts = [created.response.text];
    const read = api.document.at('GET', created.pattern);
    if (read && api.may(read)) texts.push((await api.send(read, { path: created.path })).text);
    const wanted = jsonIn(text);
    const wrong = texts.map((each) => valueAt(jsonIn(each), ...place)).find((got) => !isSame(got, wanted));
    if (wrong !== undefined) api.note(operation.title, `responds with ${name} = ${shown(wrong)} to ${what}`);
  }

  /** `Location` leads to the created resource, as the response of the creation has it. */
  private async checkLocation({ path, pattern, response }: Resource): Promise<void> {
    const { api, operation } = this;
    const read = api.document.at('GET', pattern);
    if (!isCreation(operation) || (read && !api.may(read))) return;
    const found = await api.target.send(path, { key: api.key });
    const isThere = read ? found.text === response.text : found.status !== 404;
    if (isThere) return;
    const location = shown(response.headers.location);
    api.note(
      operation.title,
      `responds with the Location ${location}, where GET responds ${found.status}${read ? ' with another body' : ''}`,
    );
  }
}

/** The serializer prints null as an empty text or 0 unless the schema of the response is nullable. */
function isSame(got: unknown, wanted: unknown): boolean {
  if (wanted === null) return got !== '' && got !== 0 && got !== false;
  return got === undefined || jsonOf(got) === jsonOf(wanted);
}
