import type { Sort } from '../../platform/http/page-query';
import type { TestResponse } from '../http-client';
import { isList, type Operation, parametersIn } from './api-document';
import { parseExactly, valueAt } from './exact-json';
import { codeOf, isSuccess, type Probe } from './probe';
import type { Resources } from './resources';
import { resolved, withQuery } from './schema';

const PAGE_SIZE = 2;
const LARGEST_PAGE = 100;
/** The value of `sort` for descending ids. */
const DESCENDING: Sort = '-id';
const NEXT = /<([^>]+)>; rel="next"/;

/** Checks each list: `limit`, `cursor`, the order, and `Link` up to the last page. */
export async function checkPages(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations.filter(isList)) {
    const names = new Set(parametersIn(operation, 'query').map(({ name }) => name));
    const missing = ['limit', 'cursor'].filter((name) => !names.has(name));
    for (const name of missing) {
      probe.note(operation.title, `is a list without the parameter ${name}. Its query must extend PageQuery`);
    }
    if (missing.length > 0) continue;
    const path = resources.pathOf(operation);
    await checkCursor(probe, operation, path);
    const ascending = await checkList(probe, operation, path, 'ascending');
    if (!isSortable(probe, operation)) continue;
    const query = `sort=${DESCENDING}`;
    const descending = await checkList(probe, operation, withQuery(path, query), 'descending');
    if (ascending !== descending) {
      probe.note(operation.title, `has ${descending} items with ${query}, and ${ascending} without it`);
    }
  }
}

function isSortable({ api }: Probe, operation: Operation): boolean {
  const sort = parametersIn(operation, 'query').find(({ name }) => name === 'sort');
  return sort !== undefined && resolved(sort.schema, api.schemas).enum?.includes(DESCENDING) === true;
}

async function checkCursor(probe: Probe, operation: Operation, path: string): Promise<void> {
  const bad = await probe.send(operation, { path: withQuery(path, 'cursor=abc'), what: 'cursor = abc' });
  if (codeOf(bad) === 'invalid_cursor') return;
  const problem = `responds ${bad.status} to a cursor of another list, and must respond 400 invalid_cursor`;
  probe.note(operation.title, problem);
}

/**
 * @param path with the query of this order
 * @returns the number of items on the largest page; undefined if it is broken
 */
async function checkList(
  probe: Probe,
  operation: Operation,
  path: string,
  order: 'ascending' | 'descending',
): Promise<number | undefined> {
  const { title } = operation;
  const whole = idsOf(await probe.send(operation, { path: withQuery(path, `limit=${LARGEST_PAGE}`) }));
  if (whole === undefined) return undefined;
  const ascending = order === 'ascending' ? whole : whole.toReversed();
  if (!isAscending(ascending)) probe.note(title, `is not in ${order} order of id`);
  const first = withQuery(path, `limit=${PAGE_SIZE}`);
  const pages = await follow(probe, operation, first, whole.length);
  if (pages && pages.slice(0, whole.length).join() !== whole.join()) {
    probe.note(title, 'has other items on its pages, followed by Link, than on one large page');
  }
  return whole.length;
}

/** @returns the ids of all pages, in their order; undefined if a page is broken */
async function follow(
  probe: Probe,
  operation: Operation,
  first: string,
  maxPages: number,
): Promise<string[] | undefined> {
  const found: string[] = [];
  let path: string | undefined = first;
  for (let at = 0; at < maxPages && path !== undefined; at += 1) {
    const response = await probe.send(operation, { path });
    const ids = idsOf(response);
    if (ids === undefined) return undefined;
    if (ids.length > PAGE_SIZE) {
      probe.note(operation.title, `has ${ids.length} items on a page with limit=${PAGE_SIZE}`);
      return undefined;
    }
    found.push(...ids);
    path = nextPath(response, probe.store.url);
  }
  return found;
}

/** Returns the path of the next page, below the base URL. */
function nextPath({ headers }: TestResponse, url: string): string | undefined {
  const [, next] = NEXT.exec(String(headers['link'])) ?? [];
  if (next === undefined) return undefined;
  const { pathname, search } = new URL(next, url);
  return `${pathname.replace(/^\/v1/, '')}${search}`;
}

/** Returns the ids of a page; undefined if the response is not a list of resources with ids. */
export function idsOf(response: TestResponse): string[] | undefined {
  if (!isSuccess(response)) return undefined;
  const items = parseExactly(response.text);
  if (!Array.isArray(items)) return undefined;
  const ids = items.map((item) => valueAt(item, ['id']));
  return ids.every((id) => typeof id === 'string') ? ids : undefined;
}

function isAscending(ids: readonly string[]): boolean {
  return ids.every((id, at) => at === 0 || BigInt(ids[at - 1] ?? id) < BigInt(id));
}
