import { randomUUID } from 'node:crypto';
import { createStore } from '../app/store';
import { readConfig } from '../config/config';
import { migrate, relationsOf, revert } from '../database/migrate';
import { entityTagOf } from '../api/entity-tags/entity-tag';
import { Api, type Check, isCreation, isSuccess, parentOf, withQuery } from './api';
import { ApiDocument, type Operation } from './api-document';
import { checkValues } from './hostile-values';
import type { TestResponse } from './http-client';
import { jsonIn, jsonOf, valueAt } from './json';
import type { TestStore } from './test-store';

const [IF_MATCH, IF_NONE_MATCH] = ['If-Match', 'If-None-Match'] as const;
const IDEMPOTENCY_KEY = 'Idempotency-Key';

/** Order, `Link` and cursors of lists; keys, scopes, methods and addresses; Idempotency-Key; entity tags. */
const PROMISES: Readonly<Record<string, Check>> = {
  async 'a list has the order of its ids, on one page and over pages by Link'(api, operation) {
    if (!takes(operation, 'cursor')) return;
    await checkOrder(api, operation, '', 1);
    if (takes(operation, 'sort')) await checkOrder(api, operation, 'sort=-id&', -1);
  },

  async 'a cursor of another list gets 400'(api, operation) {
    if (!takes(operation, 'cursor')) return;
    const path = api.pathOf(operation);
    for (const cursor of api.cursors.slice(-2)) {
      const what = `cursor = ${cursor}`;
      const response = await api.send(operation, { path: withQuery(path, `cursor=${cursor}`), what });
      api.requires(operation, response, 'to a cursor of another list', '400 invalid_cursor');
    }
    const next = nextOf(await api.send(operation, { path: withQuery(path, 'limit=1') })) ?? '';
    api.cursors.push(...(/(?<=[?&]cursor=)[^&]+/.exec(next) ?? []));
  },

  async 'a request without a valid key gets 401, and one whose key lacks the scopes 403'(api, operation) {
    const { scopes, method, body } = operation;
    // Changes nothing: no operation accepts this body, no resource has this id.
    const path = method === 'GET' || body ? api.pathOf(operation) : otherPathOf(api, operation);
    const sendAs = (key?: string) => api.send(operation, { path, body: body && '{', key });
    const sendWith = async (scope: string) => sendAs(await api.store.key({ scopes: [scope] }));
    api.requires(operation, await sendAs(), 'to a request without a key', '401 missing_api_key');
    api.requires(operation, await sendAs('wrong'), 'to a wrong key', '401 invalid_api_key');
    const cause = `to a key without the scope ${scopes.join(' or ')}`;
    const other = await sendWith(scopes.includes('events:read') ? 'pets:read' : 'events:read');
    if (scopes.length > 0) api.requires(operation, other, cause, '403 insufficient_scope');
    else if (other.status === 403) api.note(operation, 'responds 403, and its document requires no scope');
    for (const scope of scopes) {
      if ((await sendWith(scope)).status !== 403) continue;
      api.note(operation, `responds 403 to a key with the scope ${scope}, which its document names`);
    }
  },

  async 'an unknown id or address gets 404, an unknown method 405 with Allow'(api, operation) {
    const { method, path, responses } = operation;
    if (path.endsWith('}') && responses['404']) {
      const { status } = await api.send(operation, { path: otherPathOf(api, operation) });
      if (status < 300) api.note(operation, `responds ${status} to an unknown id, and documents 404`);
    }
    const { status, headers } = await api.request(api.pathOf(operation), { method: 'PROPFIND' });
    const isAllowed = status === 405 && String(headers.allow).split(/,? /).includes(method);
    const wanted = `must respond 405 with ${method} in Allow`;
    if (!isAllowed) api.note(operation, `responds ${status} to an unknown method, and ${wanted}`);
    const unknown = await api.request(`/nothing-here${path}`);
    api.requires(operation, unknown, 'to an address that no operation has', '404 route_not_found');
  },

  async 'a repeated Idempotency-Key creates once and gets one response, another body 422'(api, operation) {
    if (!isCreation(operation) || !takes(operation, IDEMPOTENCY_KEY)) return;
    // A batch is created below its list.
    const list = api.document.at('GET', operation.path) ?? api.document.at('GET', parentOf(operation.path));
    const newest = list && takes(list, 'sort') ? 'sort=-id&limit=100' : 'limit=100';
    const known = list ? await idsOn(api, list, newest) : [];
    const headers = { [IDEMPOTENCY_KEY]: randomUUID() };
    const first = await api.create(operation, headers);
    if (!first) return;
    const again = await api.send(operation, { body: first.body, headers });
    const isReplayed = again.headers['idempotent-replayed'] === 'true' && again.text === first.response.text;
    // A response with a secret is not stored.
    if (!isReplayed && !again.text.includes('"secret_already_shown"')) {
      const fix = 'Declare @Idempotent()';
      api.note(operation, `does not replay the response of an Idempotency-Key. ${fix}`);
    }
    const created = list ? (await idsOn(api, list, newest)).filter((id) => !known.includes(id)) : [];
    const fix = 'Use the transaction of @Idempotent()';
    if (created.length > 1) api.note(operation, `creates more than once for one Idempotency-Key. ${fix}`);
    const body = await api.newBody(operation);
    if (jsonOf(body) === jsonOf(first.body)) return;
    const other = await api.send(operation, { body, headers });
    api.requires(operation, other, 'to an Idempotency-Key with another body', '422 idempotency_key_reused');
  },

  async 'the ETag of a response gets 304 while nothing changes'(api, operation) {
    if (operation.method !== 'GET' || !takes(operation, IF_NONE_MATCH)) return;
    const { etag } = (await api.send(operation)).headers;
    if (etag === undefined) return;
    const again = await api.send(operation, { headers: { [IF_NONE_MATCH]: etag } });
    api.requires(operation, again, 'to the ETag of its last response', '304');
  },

  async 'If-Match gets 412 and changes nothing, unless it is the current ETag'(api, operation) {
    const read = api.document.at('GET', operation.path);
    if (!read || !takes(operation, IF_MATCH)) return;
    const resource = await api.createAt(operation.path);
    const path = resource?.path ?? api.pathOf(operation);
    const before = await api.send(read, { path });
    const other = await api.send(operation, { path, headers: { [IF_MATCH]: entityTagOf('another state') } });
    const after = await api.send(read, { path });
    const isChanged = after.text !== before.text;
    // The change may be in force (RFC 9110, 13.1.1).
    const what = 'an If-Match of another state';
    if (isChanged || !isSuccess(other)) api.requires(operation, other, `to ${what}`, '412');
    if (isChanged) api.note(operation, `changes the resource with ${what}. Compare before the change`);
    // Other operations need a resource that this promise has not created.
    if (operation.method === 'DELETE' && !resource) return;
    const headers = { [IF_MATCH]: String(after.headers.etag) };
    if ((await api.send(operation, { path, headers })).status !== 412) return;
    const remedy = 'Give @IfMatch() the class of the response of GET, and the Precondition its state';
    api.note(operation, `responds 412 to the current ETag in If-Match. ${remedy}`);
  },
};

/**
 * Holds the operations of a store against its promises, and runs the migrations of its extensions in both directions.
 * It creates and removes resources, so give each test a new store.
 *
 * @returns a sentence for each broken promise and for each operation that never succeeds
 */
export async function brokenPromises(store: TestStore): Promise<string[]> {
  const document = new ApiDocument((await store.fetch('/openapi.json')).text);
  const api = new Api(document, store, await store.key());
  const { operations } = document;
  const creations = operations.filter(isCreation);
  // A page of two then has a next one.
  for (const operation of [...creations, ...creations, ...creations]) await api.create(operation);
  // Later ones send more requests, and change or remove more.
  for (const check of [...Object.values(PROMISES), checkValues])
    for (const operation of operations) await check(api, operation);
  for (const operation of operations.filter((each) => !api.succeeded.has(each))) {
    api.note(operation, 'was not checked, because it never succeeds. Give examples that a new store accepts');
  }
  return [...api.faults.values(), ...(await brokenMigrations(store))];
}

/** Applies, reverts and applies again the migrations of the extensions, in a database of their own. */
export async function brokenMigrations(store: TestStore): Promise<string[]> {
  const { migrations, settings } = createStore(store.extensions);
  const names = new Set(migrations.flatMap(({ extension }) => extension ?? []));
  const database = await store.createDatabase();
  const config = { ...readConfig({}, settings), databaseUrl: database.url, migrations };
  let fault = 'The migrations cannot be applied.';
  try {
    await migrate({ ...config, migrations: migrations.filter(({ extension }) => extension === undefined) });
    const before = await relationsOf(config);
    await migrate(config);
    fault = 'The "down" of a migration fails.';
    for (const name of [...names].toReversed()) await revert(config, name);
    const left = (await relationsOf(config)).filter((name) => !before.includes(name));
    fault = `The "down" of a migration leaves ${left.join(', ') || 'a part of what its "up" did'}.`;
    if (left.length === 0) await migrate(config);
    return left.length === 0 ? [] : [fault];
  } catch (error) {
    return [`${fault} ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    await database.drop();
  }
}

/** Returns the path of a request to a resource that does not exist. */
function otherPathOf(api: Api, operation: Operation): string {
  const [, name = ''] = /\{(\w+)\}[^{]*$/.exec(operation.path) ?? [];
  return api.pathOf(operation, { [name]: '9223372036854775807' });
}

function takes({ parameters }: Operation, name: string): boolean {
  return parameters.some((each) => each.name === name);
}

/** Follows the pages of a list to the items of its largest page. */
async function checkOrder(api: Api, operation: Operation, sort: string, step: 1 | -1) {
  const all = await idsOn(api, operation, `${sort}limit=100`);
  const sorted = all.toSorted((one, other) => (one < other ? -step : step));
  if (sorted.join() !== all.join()) {
    api.note(operation, `is not in ${step > 0 ? 'ascending' : 'descending'} order of id`);
  }
  const followed: bigint[] = [];
  let path: string | undefined = withQuery(api.pathOf(operation), `${sort}limit=2`);
  while (path !== undefined && followed.length < all.length) {
    const page: TestResponse = await api.send(operation, { path });
    const ids = idsOf(page);
    if (ids.length > 2) api.note(operation, `has ${ids.length} items on a page with limit=2`);
    followed.push(...ids);
    path = ids.length > 0 ? nextOf(page) : undefined;
  }
  if (followed.slice(0, all.length).join() !== all.join()) {
    api.note(operation, 'has other items on its pages, followed by Link, than on one large page');
  }
}

/** Returns the path of the next page by the `Link` header (RFC 8288), below the base URL. */
function nextOf({ headers }: TestResponse): string | undefined {
  return /<[^>]*?\/v1(\/[^>]*)>\s*;\s*rel="next"/.exec(String(headers.link))?.[1];
}

/** Returns the ids on a page of a list. @param query such as `limit=100` */
async function idsOn(api: Api, list: Operation, query: string): Promise<readonly bigint[]> {
  return idsOf(await api.send(list, { path: withQuery(api.pathOf(list), query) }));
}

function idsOf(response: TestResponse): readonly bigint[] {
  const items = isSuccess(response) ? [jsonIn(response.text)].flat() : [];
  const ids = items.map((item) => valueAt(item, 'id'));
  return ids.flatMap((id) => (typeof id === 'number' || typeof id === 'bigint' ? BigInt(id) : []));
}
