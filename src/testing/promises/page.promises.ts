import { type Api, codeOf, isSuccess, linkOf, pathOfLink, shown } from '../api';
import { isList, type Operation, type Parameter, parametersIn, withQuery } from '../api-document';
import type { TestResponse } from '../http-client';
import { jsonIn, jsonOf, valueAt } from '../json';
import type { Resources } from '../resources';
import type { ApiPromise } from './promise';

const PAGE_SIZE = 2;
const LARGEST_PAGE = 100;
/** Pages of a deployment that are followed; a test store's are all followed. */
const MAX_PAGES = 3;
/** The value of `sort` for descending ids. */
const DESCENDING = '-id';
const PAGING = new Set(['limit', 'cursor', 'sort']);

/** Lists: `limit`, `cursor`, the order, filters, and `Link`. */
export const pagePromises: readonly ApiPromise[] = [
  { title: 'lists have the order of their ids, on one page and over pages by Link', check: checkPages },
  {
    title: 'a query parameter with the name of a member filters by it, also on later pages',
    check: checkFilters,
  },
];

/** Returns the items of a page; undefined if the response is not a list of resources with ids. */
export function itemsOf(response: TestResponse): readonly unknown[] | undefined {
  const items = isSuccess(response) ? jsonIn(response.text) : undefined;
  if (!Array.isArray(items)) return undefined;
  return items.every((item) => /^(number|bigint)$/.test(typeof valueAt(item, 'id'))) ? items : undefined;
}

async function checkPages(api: Api, resources: Resources): Promise<void> {
  for (const operation of listsOf(api)) {
    const names = new Set(parametersIn(operation, 'query').map(({ name }) => name));
    const missing = ['limit', 'cursor'].filter((name) => !names.has(name));
    for (const name of missing) {
      api.note(operation.title, `is a list without the parameter ${name}. Its query must extend PageQuery`);
    }
    if (missing.length > 0) continue;
    const path = resources.pathOf(operation);
    await requireInvalidCursor(api, operation, withQuery(path, 'cursor', 'abc'), 'abc');
    await checkDefault(api, operation, path);
    const ascending = await checkList(api, operation, path, 'ascending');
    if (!isSortable(api, operation)) continue;
    const descending = await checkList(api, operation, withQuery(path, 'sort', DESCENDING), 'descending');
    if (api.isThorough && ascending !== descending) {
      const problem = `has ${descending} items with sort=${DESCENDING}, and ${ascending} without it`;
      api.note(operation.title, problem);
    }
  }
}

/** Lists that this key may read. */
function listsOf(api: Api): Operation[] {
  return api.operations.filter((operation) => isList(operation) && api.may(operation));
}

function isSortable({ document }: Api, operation: Operation): boolean {
  const sort = parametersIn(operation, 'query').find(({ name }) => name === 'sort');
  return sort !== undefined && document.schema(sort.schema).enum?.includes(DESCENDING) === true;
}

/** A cursor belongs to its list, its filters and its sort. */
async function requireInvalidCursor(
  api: Api,
  operation: Operation,
  path: string,
  cursor: string,
): Promise<void> {
  const response = await api.send(operation, { path, what: `cursor = ${cursor}` });
  if (codeOf(response) === 'invalid_cursor') return;
  const problem = `responds ${response.status} to a cursor of another list, and must respond 400 invalid_cursor`;
  api.note(operation.title, problem);
}

async function checkDefault(api: Api, operation: Operation, path: string): Promise<void> {
  const limit = parametersIn(operation, 'query').find(({ name }) => name === 'limit');
  const preset = limit && api.document.schema(limit.schema).default;
  const items = itemsOf(await api.send(operation, { path }));
  if (!items || typeof preset !== 'number' || items.length <= preset) return;
  api.note(operation.title, `has ${items.length} items without limit, whose default is ${preset}`);
}

/**
 * @param path with the query of this order
 * @returns the number of items on the largest page; undefined if it is broken
 */
async function checkList(
  api: Api,
  operation: Operation,
  path: string,
  order: 'ascending' | 'descending',
): Promise<number | undefined> {
  const { title } = operation;
  const largest = await api.send(operation, { path: withQuery(path, 'limit', LARGEST_PAGE) });
  const whole = itemsOf(largest);
  if (whole === undefined) return undefined;
  const ids = whole.map(idOf);
  const ascending = order === 'ascending' ? ids : ids.toReversed();
  if (!ascending.every((id, at) => at === 0 || (ascending[at - 1] ?? id) < id)) {
    api.note(title, `is not in ${order} order of id`);
  }
  if (whole.length < LARGEST_PAGE && linkOf(largest, 'next') !== undefined) {
    api.note(title, 'has a next page after a page that is not full');
  }
  const maxPages = api.isThorough ? whole.length : MAX_PAGES;
  const followed = await follow(api, operation, withQuery(path, 'limit', PAGE_SIZE), PAGE_SIZE, maxPages);
  // Others may add items to a deployment meanwhile.
  const newest = ascending.at(-1) ?? 0;
  const seen = followed?.map(idOf).filter((id) => api.isThorough || id <= newest);
  const count = Math.min(whole.length, maxPages * PAGE_SIZE);
  const isShort = (followed?.length ?? count) < count;
  if (isShort || seen?.slice(0, count).some((id, at) => id !== ids[at])) {
    api.note(title, 'has other items on its pages, followed by Link, than on one large page');
  }
  return whole.length;
}

/** @returns the items of the pages, in their order; undefined if a page is broken */
async function follow(
  api: Api,
  operation: Operation,
  first: string,
  size: number,
  maxPages: number,
): Promise<unknown[] | undefined> {
  const found: unknown[] = [];
  let path: string | undefined = first;
  for (let at = 0; at < maxPages && path !== undefined; at += 1) {
    const response: TestResponse = await api.send(operation, { path });
    const items = itemsOf(response);
    if (items === undefined) return undefined;
    if (items.length > size) {
      api.note(operation.title, `has ${items.length} items on a page with limit=${size}`);
      return undefined;
    }
    if ((linkOf(response, 'first') === undefined) !== (at === 0)) {
      api.note(operation.title, 'must have Link with rel="first" on every page but the first');
    }
    found.push(...items);
    const next = linkOf(response, 'next');
    path = next && pathOfLink(next);
  }
  return found;
}

/** A filter is checked with values of items, with each value of an enumeration, and with one that no item has. */
async function checkFilters(api: Api, resources: Resources): Promise<void> {
  for (const operation of listsOf(api)) {
    const item = api.document.schema(api.document.schema(operation.success ?? {}).items ?? {});
    const filters = parametersIn(operation, 'query').filter(
      ({ name }) => !PAGING.has(name) && item.properties?.[name] !== undefined,
    );
    if (filters.length === 0) continue;
    const path = resources.pathOf(operation);
    const items = await newestOf(api, operation, path);
    for (const filter of filters) {
      for (const value of valuesOf(api, filter, items)) {
        await checkFilter(api, operation, resources, filter, value, items);
      }
    }
  }
}

/** Returns the items that a filter must find again: the newest, so that those of this run are among them. */
async function newestOf(api: Api, operation: Operation, path: string): Promise<readonly unknown[]> {
  const sorted = isSortable(api, operation) ? withQuery(path, 'sort', DESCENDING) : path;
  return itemsOf(await api.send(operation, { path: withQuery(sorted, 'limit', LARGEST_PAGE) })) ?? [];
}

function valuesOf(api: Api, { name, schema }: Parameter, items: readonly unknown[]): unknown[] {
  const { document, isThorough } = api;
  const whole = document.schema(schema);
  const single = whole.items === undefined ? whole : document.schema(whole.items);
  if (single.enum) return [...single.enum];
  const found = [...new Set(items.map((item) => valueAt(item, name)))].slice(0, isThorough ? 2 : 1);
  const { type, maximum = 2 ** 52 + 1 } = single;
  const other = type === 'integer' ? maximum : 'a value of no item';
  const values = [...found, other].filter((value) => value !== undefined && value !== null);
  const lists =
    whole.items === undefined ? [] : [[items[0], items.at(-1)].map((each) => valueAt(each, name))];
  return [...values, ...lists].filter(
    (value) => document.errors(schema, whole.items && !Array.isArray(value) ? [value] : value).length === 0,
  );
}

async function checkFilter(
  api: Api,
  operation: Operation,
  resources: Resources,
  { name }: Parameter,
  value: unknown,
  items: readonly unknown[],
): Promise<void> {
  const { title } = operation;
  const path = resources.pathOf(operation);
  const isMeant = (item: unknown) =>
    [value].flat().some((each) => String(valueAt(item, name)) === String(each));
  const filtered = withQuery(path, name, value);
  const found = await newestOf(api, operation, filtered);
  const pages = (await follow(api, operation, withQuery(filtered, 'limit', 1), 1, 2)) ?? [];
  const other = [...found, ...pages].find((item) => !isMeant(item));
  const what = `${name} = ${shown(value)}`;
  if (other !== undefined) {
    const got = `${name} = ${shown(valueAt(other, name))}`;
    api.note(title, `has an item with ${got} for ${what}. Filter by it`, `ignores ${name}`);
    return;
  }
  const ids = new Set(found.map(idOf).map(jsonOf));
  // Others may change items of a deployment meanwhile.
  const own = new Set(resources.created.map(({ path: each }) => each.split('/').at(-1)));
  const certain = items.filter((item) => api.isThorough || own.has(jsonOf(idOf(item))));
  const missing = certain.filter(isMeant).find((item) => !ids.has(jsonOf(idOf(item))));
  if (missing !== undefined && found.length < LARGEST_PAGE) {
    api.note(title, `lacks the item ${jsonOf(idOf(missing))} for ${what}`, `lacks items for ${name}`);
  }
  const first = await api.send(operation, { path: withQuery(filtered, 'limit', 1) });
  const next = new URLSearchParams(linkOf(first, 'next')?.split('?')[1]);
  const cursor = next.get('cursor');
  if (cursor === null) return;
  if (next.getAll(name).join() !== [value].flat().join()) {
    api.note(title, `has a next page without ${what}. Link must keep each filter`, `loses ${name}`);
  }
  await requireInvalidCursor(api, operation, withQuery(path, 'cursor', cursor), 'that of a filter');
}

function idOf(item: unknown): number | bigint {
  const id = valueAt(item, 'id');
  return typeof id === 'bigint' ? id : Number(id);
}
