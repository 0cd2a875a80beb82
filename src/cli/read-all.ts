import { encodeCursor, MAX_ITEMS, type Page, SortedPageQuery } from '../platform/paging/page';

/** Reads a list page by page. @param given filters and order of its query @param count most items; default: all */
export async function readAll<T>(
  list: (query: SortedPageQuery) => Promise<Page<T>>,
  given: object = {},
  count = Infinity,
): Promise<T[]> {
  const query = Object.assign(new SortedPageQuery(), given, { limit: MAX_ITEMS });
  let page = await list(query);
  const items = [...page.items];
  while (page.next !== undefined && items.length < count) {
    page = await list(Object.assign(query, { cursor: encodeCursor(page.request.list, page.next) }));
    items.push(...page.items);
  }
  return items.slice(0, count);
}
