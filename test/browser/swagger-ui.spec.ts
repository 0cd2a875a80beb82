import { text } from 'node:stream/consumers';
import type { Browser, Page } from 'playwright-core';
import { Int64, SortedPageQuery } from '../../src';
import { Int64List } from '../../src/platform/validation/fields';
import { startApp, type TestApp } from '../support/app';
import { until } from '../support/until';
import { itemsExtension } from '../testing/support/items.extension';
import { NOTE, PLACES } from '../testing/support/items.parts';
import { findings } from './support/accessibility';
import { inChromium } from './support/chromium';
import { SwaggerUi } from './support/swagger-ui';
import { openBrowser, overflowOf, visit, type Visit, WINDOWS } from './support/visit';

/** JavaScript rounds it to 9007199254740992. */
const ODD = '9007199254740993';
const LONGEST = 3;
const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';

class ScalesQuery extends SortedPageQuery {
  @Int64({ optional: true, description: 'Only this weight.', example: 7 })
  readonly weight?: bigint;

  @Int64List({ optional: true, max: 9, description: 'Only these.', example: [7, 9] })
  readonly weights?: bigint[];
}

const weight = [Int64({ description: 'Weight in grams.', example: 7 })];

const scales = itemsExtension('scales', {
  body: { weight, ...PLACES, ...NOTE },
  item: { weight },
  queryType: ScalesQuery,
  handlers: ['list', 'create'],
  // An address with an underscore is deprecated in Swagger UI.
  facts: { list: { id: 'listScales' }, create: { id: 'addScale' } },
  list: () => [],
  create: (body: object) => ({ id: 8n, note: null, ...body }),
});

inChromium('Swagger UI', (chromium) => {
  let app: TestApp;
  let browser: Browser;
  let visited: Visit;
  let page: Page;
  let ui: SwaggerUi;
  beforeAll(async () => {
    app = await startApp({}, { extensions: [scales] });
    browser = await openBrowser(chromium);
  });
  beforeEach(async () => {
    visited = await visit(browser, app.url, 'narrow');
    page = visited.page;
    ui = new SwaggerUi(page);
  });
  afterEach(() => expect(visited.problems).toEqual([]));
  afterEach(() => page.context().close());
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  /** The operations whose description is longest: each opened one costs a second of processor time. */
  const longest = async () => {
    const { paths } = (await app.get('/openapi.json')).json;
    const operations = Object.values<object>(paths).flatMap((path) => Object.values<any>(path));
    const length = (operation: object) => JSON.stringify(operation).length;
    return operations
      .filter(({ operationId }) => operationId)
      .toSorted((one, other) => length(other) - length(one))
      .slice(0, LONGEST)
      .map(({ operationId }) => String(operationId));
  };

  // A load and each open operation cost a second of processor time, so the promises of a test share them.
  it('fits a narrow window: opens the operation of a link, with its scope; sends an id as it is typed, and no key before one is entered; shows the headers of the deprecation', async () => {
    await page.goto(`${visited.origin}/docs?x=1#/scales/listScales`);
    const description = page.locator('.opblock.is-open .opblock-description-wrapper').first();
    await description.scrollIntoViewIfNeeded();
    expect(await page.locator('.opblock.is-open').count()).toBe(1);
    expect(await description.innerText()).toContain('The key needs the scope scales:read');
    await visited.screenshot('docs-scopes');
    expect(await overflowOf(page)).toBe(0);

    const { status, sent, curl, url, headers, body } = await ui.tryOut('pets', 'getPet', { petId: ODD });
    for (const each of [sent.url, curl, url]) expect(each).toContain(`/v1/pets/${ODD}`);
    expect([status, body]).toEqual(['401', expect.stringContaining('"code": "missing_api_key"')]);
    expect(sent.headers['prefer']).toBe('handling=strict');
    expect(headers).toMatch(/sunset: ?Thu, ?05 Dec 2030/);
    expect(await overflowOf(page)).toBe(0);
    // Chromium logs every response with a status of 400 or higher as an error.
    expect(visited.problems.splice(0)).toEqual([
      `401: ${sent.url}`,
      'console: Failed to load resource: the server responded with a status of 401 (Unauthorized)',
    ]);
  });

  it('keeps a key for the tab, also after a reload, and says so; sends typed values beyond 2^53, no other filter, and the example of a body or a typed one; shows, copies and downloads the response', async () => {
    await page.setViewportSize(WINDOWS.wide);
    await page.goto(`${visited.origin}/docs`);
    await ui.authorize(app.key);
    await visited.screenshot('docs', true);
    const parameters = await ui.open('scales', 'listScales');
    const row = parameters.locator('tr[data-param-name="weight"]');
    expect(await row.locator('input').inputValue()).toBe('');
    const { status, sent, curl, url } = await ui.tryOut('scales', 'listScales', { weight: MIN });
    expect(status).toBe('200');
    for (const each of [sent.url, curl, url])
      expect(each).toMatch(new RegExp(`[?&]weight=${MIN}(?!&weights)`));

    const block = await ui.open('scales', 'addScale');
    const area = block.locator('textarea.body-param__text');
    const example = await area.inputValue();
    expect(example).toContain('"weight": 7,');
    const body = example.replace('"weight": 7', `"weight": ${MAX}`).replace('North', 'Žofie');
    const created = await ui.tryOut('scales', 'addScale', {}, body);
    await visited.screenshot('docs-create');
    expect(created).toMatchObject({ status: '201', sent: { body } });
    // Without a key of its own in the form, each creation is a new one.
    expect(created.sent.headers).not.toHaveProperty('idempotency-key');
    expect(created.curl).toContain(`"weight": ${MAX},`);
    expect(created.body).toMatch(/^{\n  "id": 8,\n  "name": "Žofie",\n/);
    expect(created.headers).toMatch(/x-ratelimit-limit: ?1000/);
    expect(created.headers).toMatch(/x-ratelimit-remaining: ?\d+/);
    expect(created.headers).toMatch(/x-ratelimit-reset: ?\d+/);

    const shown = block.locator('.live-responses-table');
    const downloading = page.waitForEvent('download');
    await shown.locator('button.download-contents').click();
    expect(await text(await (await downloading).createReadStream())).toBe(created.body);

    await shown.locator('.copy-to-clipboard button').click();
    await area.fill('');
    await area.press('Control+V');
    expect(await area.inputValue()).toBe(created.body);

    await page.reload();
    expect(await page.locator('.info').innerText()).toContain('kept for this tab only');
    expect((await ui.tryOut('scales', 'listScales', {})).status).toBe('200');
    // Another tab and localStorage do not have it.
    expect(await page.evaluate('localStorage.length')).toBe(0);
    const other = await page.context().newPage();
    await other.goto(`${visited.origin}/docs`);
    expect(await other.evaluate('sessionStorage.length')).toBe(0);
    await other.close();
    await page.locator('.scheme-container button.authorize').click();
    await page.locator('.modal-ux button', { hasText: 'Logout' }).click();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.locator('.modal-ux .btn-done').click();
  });

  it('transfers at most 520 kB, shows the first operation without scrolling, and filters operations by method, path, title and id', async () => {
    await page.setViewportSize(WINDOWS.wide);
    let bytes = 0;
    page.on('requestfinished', async (request) => (bytes += (await request.sizes()).responseBodySize));
    await page.goto(`${visited.origin}/docs`);
    const first = (await page.locator('.opblock').first().boundingBox())!;
    expect(first.y + first.height).toBeLessThan(WINDOWS.wide.height);
    expect(bytes).toBeLessThanOrEqual(520_000);
    expect(await page.locator('.models.is-open').count()).toBe(0);
    const filter = page.locator('.operation-filter-input');
    const ids = page.locator('.opblock-summary-operation-id');
    const find = async (phrase: string, ...found: string[]) => {
      await filter.fill(phrase);
      await until(async () => String(await ids.allInnerTexts()) === String(found));
    };
    const all = await ids.allInnerTexts();
    await find('SCALES', 'listScales', 'addScale');
    await find(' delete /webhooks', 'deleteWebhook');
    await find('lift the ban', 'unbanKey');
    await find('(*');
    await find('getinventory', 'getInventory');
    await find('', ...all);
  });

  it.each([
    ['wide', 'light', 2_600],
    ['narrow', 'dark', 3_710],
  ] as const)(
    'in a %s window, %s: the longest operations have at most %i px, and nothing has too little contrast or a list without a name',
    async (window, colorScheme, height) => {
      const broken = async () => {
        // A button has other colors while it changes them.
        await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
        return findings(page, ['color-contrast', 'select-name']);
      };
      await page.setViewportSize(WINDOWS[window]);
      await page.emulateMedia({ colorScheme });
      await page.goto(`${visited.origin}/docs`);
      await page.locator('.opblock').first().waitFor();
      expect(await broken()).toEqual([]);
      await visited.screenshot(`docs-${colorScheme}`, true);
      await page.locator('.scheme-container button.authorize').click();
      await page.locator('.modal-ux').waitFor();
      expect(await broken()).toEqual([]);
      await page.locator('.modal-ux .btn-done').click();
      for (const operation of await longest()) {
        const block = page.locator(`.opblock[id$="-${operation}"]`);
        await block.locator('.opblock-summary-control').click();
        await block.locator('.responses-wrapper').waitFor();
        const id = await block.getAttribute('id');
        expect([id, (await block.boundingBox())!.height <= height, await overflowOf(page)]).toEqual([
          id,
          true,
          0,
        ]);
        await block.locator('.opblock-summary-control').click();
      }
      const list = await ui.open('pets', 'listPets');
      await visited.screenshot(`docs-open-${colorScheme}`, true);
      await list.locator('button.execute').click();
      await list.locator('.live-responses-table').waitFor();
      expect(await broken()).toEqual([]);
      // Without a key the list is a 401.
      visited.problems.splice(0);
    },
  );
});
