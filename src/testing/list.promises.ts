import { type Api, isSuccess, type Promises, withQuery } from './api';
import type { Operation } from './api-document';
import type { TestResponse } from './http-client';
import { jsonIn, valueAt } from './json';

/** Lists: their order, `Link`, and cursors. */
export const listPromises: Promises = {
  async 'a list has the order of its ids, on one page and over pages by Link'(api, operation) {
    if (!isPaged(operation)) return;
    await checkOrder(api, operation, '', 1);
    if (isSortable(api, operation)) await checkOrder(api, operation, 'sort=-id&', -1);
  },

  async 'a cursor of another list gets 400'(api, operation) {
    if (!isPaged(operation)) return;
    const path = api.pathOf(operation);
    for (const cursor of api.cursors.slice(-2)) {
      const what = `cursor = ${cursor}`;
      const response = await api.send(operation, { path: withQuery(path, `cursor=${cursor}`), what });
      api.requires(operation, response, 'to a cursor of another list', '400 invalid_cursor');
    }
    const next = nextOf(await api.send(operation, { path: withQuery(path, 'limit=1') })) ?? '';
    api.cursors.push(...(/(?<=[?&]cursor=)[^&]+/.exec(next) ?? []));
  },
};

/** Returns the ids on the largest page of a list, of the newest items if it can be sorted. */
export async function newestIds(api: Api, list: Operation): Promise<readonly bigint[]> {
  const query = isSortable(api, list) ? 'sort=-id&limit=100' : 'limit=100';
  return idsOf(await api.send(list, { path: withQuery(api.pathOf(list), query) }));
}

/** A short, fixed list has no cursor, and a search has an order of its own. */
function isPaged({ method, parameters }: Operation): boolean {
  const isSearch = parameters.some((each) => each.in === 'query' && each.required);
  return method === 'GET' && !isSearch && parameters.some(({ name }) => name === 'cursor');
}

function isSortable({ document }: Api, { parameters }: Operation): boolean {
  const sort = parameters.find(({ name }) => name === 'sort');
  return sort !== undefined && document.schema(sort.schema).enum?.includes('-id') === true;
}

/** Follows the pages of a list to the items of its largest page. */
async function checkOrder(api: Api, operation: Operation, sort: string, step: 1 | -1) {
  const pathOf = (query: string) => withQuery(api.pathOf(operation), `${sort}${query}`);
  const all = idsOf(await api.send(operation, { path: pathOf('limit=100') }));
  const sorted = all.toSorted((one, other) => (one < other ? -step : step));
  if (sorted.join() !== all.join()) {
    api.note(operation, `is not in ${step > 0 ? 'ascending' : 'descending'} order of id`);
  }
  const followed: bigint[] = [];
  let path: string | undefined = pathOf('limit=2');
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

function idsOf(response: TestResponse): readonly bigint[] {
  const items = isSuccess(response) ? [jsonIn(response.text)].flat() : [];
  const ids = items.map((item) => valueAt(item, 'id'));
  return ids.flatMap((id) => (typeof id === 'number' || typeof id === 'bigint' ? BigInt(id) : []));
}
