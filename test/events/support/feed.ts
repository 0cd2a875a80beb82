import type { TestApp } from '../../support/app';
import type { RequestOptions } from '../../support/http';
import { linksOf } from '../../support/links';
import { until } from '../../support/until';

export const PATH = '/v1/events';

export interface Event {
  readonly id: number;
  readonly type: string;
  readonly createdAt: string;
  readonly data: Record<string, unknown>;
}

/** Follows the feed from its start, then from its last page. */
export function readerOf(app: TestApp, options: RequestOptions = {}, query = 'limit=2') {
  let path = `${PATH}?${query}`;
  return async (isSettled = true): Promise<Event[]> => {
    if (isSettled) await settle(app);
    const found: Event[] = [];
    for (let count = 1; count > 0;) {
      const page = await app.get(path, options);
      expect(page.status).toBe(200);
      count = page.json.length;
      found.push(...page.json);
      path = linksOf(page)['next']!;
    }
    return found;
  };
}

/** Follows the feed from its end. */
export async function readerFromNow(app: TestApp, options: RequestOptions = {}, query = 'limit=2') {
  await settle(app);
  const { next } = linksOf(await app.get(`${PATH}?from=now&${query}`, options));
  return readerOf(app, options, next!.split('?')[1]);
}

/** Waits for transactions in other databases of the server, which may have earlier numbers. */
export function settle({ database }: Pick<TestApp, 'database'>): Promise<void> {
  return until(async () => {
    const [row] = await database.query<{ settled: boolean }>(
      'SELECT coalesce(max(id) < event_id_of(pg_snapshot_xmin(pg_current_snapshot())), true) AS settled FROM events',
    );
    return row!.settled;
  });
}
