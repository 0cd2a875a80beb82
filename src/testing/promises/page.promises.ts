import { isSuccess, linkOf, pathOfLink, shown } from '../api';
import { isList, type Parameter, parametersIn, type Schema, withQuery } from '../api-document';
import type { TestResponse } from '../http-client';
import { jsonIn, jsonOf, valueAt } from '../json';
import type { OperationUnderTest, Promises } from './operation-under-test';

const PAGE_SIZE = 2;
const LARGEST_PAGE = 100;
/** The value of `sort` for descending ids. */
const DESCENDING = '-id';
/** The parameters of every list. */
export const PAGING = new Set(['limit', 'cursor', 'sort']);
const SINGLE_VALUE = /^(string|integer|number|boolean)$/;

/** Lists: `limit`, `cursor`, the order, filters, and `Link`. */
export const pagePromises: Promises = {
  async 'lists have the order of their ids, on one page and over pages by Link'(tested) {
    const { operation, path } = tested;
    // A short, fixed list has no pages, and a search has an order of its own.
    const isSearch = parametersIn(operation, 'query').some(({ required }) => required);
    if (!isList(operation) || isSearch || membersOf(tested)['id'] === undefined) return;
    if (!queryOf(tested, 'cursor')) {
      tested.note('is a list without the parameter cursor. Its query must extend SortedPageQuery');
      return;
    }
    const foreign = await tested.send({ path: withQuery(path, 'cursor', 'abc'), what: 'cursor = abc' });
    tested.requires(foreign, 'to a cursor of another list', '400 invalid_cursor');
    const ascending = await checkList(tested, path, 'ascending');
    if (!isSortable(tested)) return;
    const descending = await checkList(tested, withQuery(path, 'sort', DESCENDING), 'descending');
    if (ascending !== descending) {
      tested.note(`has ${descending} items with sort=${DESCENDING}, and ${ascending} without it`);
    }
  },

  // A filter is checked with values of items, with each value of an enumeration, and with one that no item has.
  async 'a query parameter with the name of a member filters by it, also on later pages'(tested) {
    const { document, operation } = tested;
    if (!isList(operation)) return;
    const filters = parametersIn(operation, 'query').filter(({ name }) => {
      const { type = '' } = document.schema(membersOf(tested)[name] ?? {});
      return !PAGING.has(name) && SINGLE_VALUE.test(type);
    });
    const items = filters.length === 0 ? [] : await newestOf(tested);
    for (const filter of filters) {
      for (const value of valuesOf(tested, filter, items)) await checkFilter(tested, filter, value, items);
    }
  },
};

function membersOf({ document, operation }: OperationUnderTest): Readonly<Record<string, Schema>> {
  return document.schema(document.schema(operation.success ?? {}).items ?? {}).properties ?? {};
}

function queryOf({ document, operation }: OperationUnderTest, name: string): Schema | undefined {
  const found = parametersIn(operation, 'query').find((each) => each.name === name);
  return found && document.schema(found.schema);
}

function isSortable(tested: OperationUnderTest): boolean {
  return queryOf(tested, 'sort')?.enum?.includes(DESCENDING) === true;
}

/** @returns the number of items on the largest page */
async function checkList(tested: OperationUnderTest, path: string, order: string): Promise<number> {
  const ids = itemsOf(await tested.send({ path: withQuery(path, 'limit', LARGEST_PAGE) })).map(idOf);
  const ascending = order === 'ascending' ? ids : ids.toReversed();
  if (!ascending.every((id, at) => at === 0 || (ascending[at - 1] ?? id) < id)) {
    tested.note(`is not in ${order} order of id`);
  }
  const followed = await follow(tested, path, ids.length);
  if (followed.length < ids.length || followed.some((id, at) => id !== (ids[at] ?? id))) {
    tested.note('has other items on its pages, followed by Link, than on one large page');
  }
  return ids.length;
}

/** Returns the ids of the items on the pages, at least `count` if there are as many. */
async function follow(tested: OperationUnderTest, list: string, count: number) {
  const found: (number | bigint)[] = [];
  let path: string | undefined = withQuery(list, 'limit', PAGE_SIZE);
  while (found.length < count && path !== undefined) {
    const response: TestResponse = await tested.send({ path });
    const items = itemsOf(response);
    if (items.length > PAGE_SIZE) tested.note(`has ${items.length} items on a page with limit=${PAGE_SIZE}`);
    if (items.length === 0) break;
    found.push(...items.map(idOf));
    path = pathOfLink(linkOf(response, 'next'));
  }
  return found;
}

/** Returns the items of a list on its largest page, newest first, so that it has the items of this run. */
export async function newestOf(list: OperationUnderTest, path = list.path, key = list.api.key) {
  const sorted = isSortable(list) ? withQuery(path, 'sort', DESCENDING) : path;
  return itemsOf(await list.send({ path: withQuery(sorted, 'limit', LARGEST_PAGE), key }));
}

/** Returns the items of a page; none if the response is not a list of resources with ids. */
function itemsOf(response: TestResponse): readonly unknown[] {
  const items = isSuccess(response) ? jsonIn(response.text) : undefined;
  if (!Array.isArray(items)) return [];
  return items.every((item) => /^(number|bigint)$/.test(typeof valueAt(item, 'id'))) ? items : [];
}

/** Lists the values of a filter that its schema allows. */
function valuesOf(tested: OperationUnderTest, { name, schema }: Parameter, items: readonly unknown[]) {
  const { document } = tested;
  const { items: item, ...whole } = document.schema(schema);
  const single = item === undefined ? whole : document.schema(item);
  // A filter may have further values, such as `all`.
  const member = membersOf(tested)[name] ?? {};
  if (single.enum) return single.enum.filter((value) => document.errors(member, value).length === 0);
  const found = items.map((each) => valueAt(each, name));
  const other = single.type === 'integer' ? (single.maximum ?? 2 ** 52 + 1) : 'a value of no item';
  const values = [...[...new Set(found)].slice(0, 2), other];
  const lists = item ? [...values.map((value) => [value]), found.slice(0, 2)] : values;
  return lists.filter((value) => document.errors(schema, value).length === 0);
}

/** @param items of the list without the filter */
async function checkFilter(
  tested: OperationUnderTest,
  { name }: Parameter,
  value: unknown,
  items: readonly unknown[],
): Promise<void> {
  const wanted = [value].flat().map(String);
  const isMeant = (item: unknown) => wanted.includes(String(valueAt(item, name)));
  const filtered = withQuery(tested.path, name, value);
  const found = await newestOf(tested, filtered);
  const other = found.find((item) => !isMeant(item));
  const what = `${name} = ${shown(value)}`;
  if (other !== undefined) {
    const got = `${name} = ${shown(valueAt(other, name))}`;
    tested.note(`has an item with ${got} for ${what}. Filter by it`, `ignores ${name}`);
    return;
  }
  const ids = new Set(found.map(idOf));
  const missing = items.find((item) => isMeant(item) && !ids.has(idOf(item)));
  if (missing !== undefined && found.length < LARGEST_PAGE) {
    tested.note(`lacks the item ${jsonOf(idOf(missing))} for ${what}`, `lacks items for ${name}`);
  }
  const first = await tested.send({ path: withQuery(filtered, 'limit', 1) });
  const next = new URLSearchParams(linkOf(first, 'next')?.split('?')[1]);
  if (next.has('cursor') && next.getAll(name).join() !== wanted.join()) {
    tested.note(`has a next page without ${what}. Link must keep each filter`, `loses ${name}`);
  }
}

export function idOf(item: unknown): number | bigint {
  const id = valueAt(item, 'id');
  return typeof id === 'bigint' ? id : Number(id);
}
