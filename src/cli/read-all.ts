import { encodeCursor, MAX_ITEMS, type Page, SortedPageQuery } from '../platform/paging/page';

/** Reads a list up to the first page without a wanted item. @param given its filters and order @param count most items */
export async function readAll<T>(
  list: (query: SortedPageQuery) => Promise<Page<T>>,
  given: object = {},
  count = Infinity,
  isWanted: (item: T) => boolean = () => true,
): Promise<T[]> {
  const query = Object.assign(new SortedPageQuery(), given, { limit: MAX_ITEMS });
  let page = await list(query);
  const items = [...page.items];
  while (page.next !== undefined && items.length < count && page.items.some(isWanted)) {
    page = await list(Object.assign(query, { cursor: encodeCursor(page.request.list, page.next) }));
    items.push(...page.items);
  }
  return items.slice(0, count).filter(isWanted);
}
