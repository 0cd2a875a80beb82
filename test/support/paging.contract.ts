import type { TestApp } from './app';
import { expectError } from './expect-error';
import type { HttpResponse } from './http';
import { linksOf } from './links';

/** A list of one key, empty at first. */
export interface PagedList {
  readonly key: string;
  /** Adds `count` rows to the list, with the given statuses in turn, and rows that the list must not contain. */
  fill(count: number, statuses?: readonly string[]): Promise<unknown>;
  /** Returns the ids of the list in ascending order, from the database. */
  storedIds(): Promise<number[]>;
}

/** Returns the ids of a page. */
export const idsOf = ({ json }: HttpResponse): number[] => json.map(({ id }: { id: number }) => id);

/** Follows `next` from a path to the last page. @returns the ids of all pages */
export async function followPages(
  app: TestApp,
  key: string,
  path: string,
  onPage: () => Promise<unknown> = () => Promise.resolve(),
): Promise<number[]> {
  const seen: number[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const response = await app.get(next, { key });
    expect(response.status).toBe(200);
    seen.push(...idsOf(response));
    await onPage();
    next = linksOf(response)['next'];
  }
  return seen;
}

/**
 * The specs of paging that every list passes.
 *
 * @param path of the list, relative to the version
 * @param statuses all values of the `status` filter
 * @param appOf returns the application
 * @param emptyList makes an empty list in the application, for each spec
 */
export function pagingContract(
  path: string,
  statuses: readonly [string, string, ...string[]],
  appOf: () => TestApp,
  emptyList: (app: TestApp) => Promise<PagedList>,
): void {
  const url = `/v1${path}`;
  const [status, otherStatus] = statuses;

  describe('pages', () => {
    let app: TestApp;
    let list: PagedList;
    beforeEach(async () => {
      app = appOf();
      list = await emptyList(app);
    });

    const get = (query = '') => app.get(`${url}${query}`, { key: list.key });
    const follow = (query: string, onPage?: () => Promise<unknown>) =>
      followPages(app, list.key, `${url}${query}`, onPage);

    it('200 is an empty array without Link if the list is empty', async () => {
      const response = await get();
      expect(response).toMatchObject({ status: 200, text: '[]' });
      expect(linksOf(response)).toEqual({});
    });

    it('200 is a bare array of the first 20 rows by ascending id', async () => {
      await list.fill(25, statuses);
      const response = await get();
      expect(response.status).toBe(200);
      expect(idsOf(response)).toEqual((await list.storedIds()).slice(0, 20));
    });

    it('200 has exactly `limit` rows if there are more', async () => {
      await list.fill(105);
      for (const limit of [1, 9, 10, 99, 100]) {
        const response = await get(`?limit=${limit}`);
        expect(response.json).toHaveLength(limit);
        expect(linksOf(response)['next']).toBeDefined();
      }
    });

    const limits = ['0', '101', '0x10', '1e1', '%201', '01', '', '-1', '+1', '1.0', '%D9%A1', '1&limit=2'];
    const wrong = [
      '',
      `${status.charAt(0).toUpperCase()}${status.slice(1)}`,
      `${status}&status=`,
      `${status}&status=${status}`,
      `${status},${otherStatus}`,
    ];
    it.each([...limits.map((value) => ['limit', value]), ...wrong.map((value) => ['status', value])])(
      '400 validation_failed for %s=%s',
      async (name, value) => {
        const response = await get(`?${name}=${value}`);
        expectError(response, 400, 'validation_failed');
        expect(response.json.message).toContain(name);
      },
    );

    it('ignores unknown parameters with any name', async () => {
      await list.fill(3);
      const unknown = '&page=7&__proto__=1&constructor=2&then=3&other[]=9&%FF=%FF&=&filters=1';
      expect(idsOf(await get(`?limit=2${unknown}`))).toEqual((await list.storedIds()).slice(0, 2));
    });

    it('Link has `next` on all pages but the last and `first` on all but the first, with limit and filter', async () => {
      await list.fill(8, [status]);
      const first = await get(`?limit=5&status=${status}`);
      const { next, ...others } = linksOf(first);
      expect(others).toEqual({});
      expect(next).toMatch(/\?limit=5&status=\w+&cursor=[\w-]+$/);
      expect(next!.startsWith(`${url}?limit=5&status=${status}&cursor=`)).toBe(true);
      const last = await app.get(next!, { key: list.key });
      expect(last.json).toHaveLength(3);
      expect(linksOf(last)).toEqual({ first: `${url}?limit=5&status=${status}` });
      const again = await app.get(linksOf(last)['first']!, { key: list.key });
      expect(again.text).toBe(first.text);
    });

    it('Link has no `next` if the page ends with the last row', async () => {
      await list.fill(8, [status]);
      for (const query of ['?limit=8', `?limit=8&status=${status}`]) {
        const response = await get(query);
        expect(response.json).toHaveLength(8);
        expect(linksOf(response)).toEqual({});
      }
    });

    it.each([
      ['made up', 'abc'],
      ['empty', ''],
      ['not base64url', '%F0%9F%90%B6'],
      ['for an id beyond int64', encoded(`9223372036854775808@${path}?`)],
      ['for an id that is not plain decimal', encoded(`007@${path}?`)],
      ['for another list', encoded('7@/other/list?')],
      ['padded', Buffer.from(`7@${path}?`).toString('base64')],
    ])('400 invalid_cursor for one that is %s', async (_what, cursor) => {
      expectError(await get(`?cursor=${cursor}`), 400, 'invalid_cursor');
    });

    it('400 invalid_cursor for one of another filter, or of none', async () => {
      await list.fill(20, statuses);
      const cursorOf = async (query: string) =>
        new URL(linksOf(await get(`?limit=2${query}`))['next']!, app.url).searchParams.get('cursor');
      const unfiltered = await cursorOf('');
      const filtered = await cursorOf(`&status=${status}`);
      expectError(await get(`?status=${status}&cursor=${unfiltered}`), 400, 'invalid_cursor');
      expectError(await get(`?cursor=${filtered}`), 400, 'invalid_cursor');
      expectError(await get(`?status=${otherStatus}&cursor=${filtered}`), 400, 'invalid_cursor');
      expect((await get(`?limit=7&cursor=${unfiltered}`)).status).toBe(200);
    });

    it('repeats and skips none of 100 rows while others are inserted', async () => {
      await list.fill(100, statuses);
      const before = await list.storedIds();
      expect(before).toHaveLength(100);
      const seen = await follow('?limit=17', () => list.fill(1));
      expect(seen.slice(0, before.length)).toEqual(before);
      expect(seen).toEqual((await list.storedIds()).slice(0, seen.length));
    });
  });
}

function encoded(position: string): string {
  return Buffer.from(position).toString('base64url');
}
