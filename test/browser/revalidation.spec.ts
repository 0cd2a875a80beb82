import type { Browser, Page } from 'playwright-core';
import { type BreakingProxy, startBreakingProxy } from '../cli/support/breaking-proxy';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { describeWhen } from '../support/it-when';
import { findChromium } from './support/chromium';
import { openBrowser, visit, type Visit } from './support/visit';

// A guard against hanging: Chromium shares the machine with all other specs.
jest.setTimeout(180_000);

const chromium = findChromium();
const inChromium = describeWhen(
  chromium !== undefined,
  'needs Chromium: apt-get install chromium, or CHROMIUM_PATH',
);

interface Fetched {
  readonly status: number;
  readonly etag: string;
  readonly text: string;
}

inChromium('the cache of a browser', () => {
  let app: TestApp;
  let proxy: BreakingProxy;
  let browser: Browser;
  let visited: Visit;
  /** The requests that reached the service in a spec, each with its response. */
  let seen: { readonly ifNoneMatch: unknown; readonly status: number; readonly text: string }[] = [];
  beforeAll(async () => {
    app = await startApp();
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.post('/v1/store/orders', { petId });
    proxy = await startBreakingProxy(app.url);
    browser = await openBrowser(chromium!);
    visited = await visit(browser, proxy.url, 'wide');
    await visited.page.goto(visited.origin);
    await visited.page.waitForLoadState('networkidle');
    // From now on only a script sends requests, one after the other.
    let ifNoneMatch: unknown;
    proxy.breakage = {
      headers: (headers) => (ifNoneMatch = headers['if-none-match']),
      response: ({ status, text }) => seen.push({ ifNoneMatch, status, text }),
    };
  });
  beforeEach(() => {
    seen = [];
  });
  afterAll(async () => {
    await browser.close();
    await proxy.close();
    await app.close();
  });

  function fetchIn(page: Page, path: string): Promise<Fetched> {
    const get = async ([url, key]: [string, string]) => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
      return {
        status: response.status,
        etag: response.headers.get('etag') ?? '',
        text: await response.text(),
      };
    };
    return page.evaluate(get, [path, app.key] as [string, string]);
  }

  it.each(['/v1/pets', '/v1/pets?id=1&sort=-id', '/v1/pets/1', '/v1/store/orders', '/v1/store/orders/1'])(
    'asks again with If-None-Match, gets a 304 without a body, and gives the script the whole 200: %s',
    async (path) => {
      const first = await fetchIn(visited.page, path);
      const second = await fetchIn(visited.page, path);
      expect(first).toMatchObject({ status: 200, text: expect.stringContaining('"id"') });
      expect(second).toEqual(first);
      expect(seen).toEqual([
        { ifNoneMatch: undefined, status: 200, text: first.text },
        { ifNoneMatch: first.etag, status: 304, text: '' },
      ]);
      expect(visited.problems).toEqual([]);
    },
  );

  it('gives the script the new state after a change', async () => {
    const before = await fetchIn(visited.page, '/v1/pets/1');
    await app.send('PATCH', '/v1/pets/1', { body: { name: 'Bello' } });
    const after = await fetchIn(visited.page, '/v1/pets/1');
    expect(after).toMatchObject({
      status: 200,
      text: before.text.replace(/"name":"[^"]*"/, '"name":"Bello"'),
    });
    expect(after.etag).not.toBe(before.etag);
    expect(seen.at(-1)).toMatchObject({ ifNoneMatch: before.etag, status: 200 });
  });
});
