import type { Page } from 'playwright-core';
import { startApp, type TestApp } from '../support/app';
import { holdTimers } from '../support/timers';
import { flawsOf, LOOKS, show, showUsage, visit, type Visit } from './support/chromium';
import { copied, runProgram } from './support/programs';
import { SwaggerUi } from './support/swagger-ui';

const SMALL = { plan: 'enterprise', perMinute: 2, perDay: 1_000 } as const;
const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';
/** Swagger UI's own elements break other rules. */
const OF_SWAGGER_UI = ['color-contrast'];

/** The other rules see the same elements in each window and color scheme. */
const OF_LOOKS = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable'];

/** The promises that need a browser, in one page. test/openapi checks the same pages over HTTP. */
describe('the pages in Chromium', () => {
  let app: TestApp;
  let visited: Visit;
  let page: Page;
  let ui: SwaggerUi;
  beforeAll(async () => {
    // The request for the usage is itself a use, which the service writes later.
    holdTimers();
    app = await startApp({ rateLimitBanAfter: 2, rateLimitBanSeconds: 300 });
    visited = await visit(app.url);
    page = visited.page;
    ui = new SwaggerUi(page);
  });
  beforeEach(async () => {
    await look(LOOKS[0]);
    await page.goto(visited.origin);
  });
  afterEach(async () => {
    await page.unrouteAll();
    await page.evaluate('sessionStorage.clear()');
    expect(visited.problems.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await visited.close();
    await app.close();
    jest.useRealTimers();
  });

  async function look({ size, colorScheme }: (typeof LOOKS)[number]): Promise<void> {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
  }

  /** Creates a key that was used on each of so many days, the last of them 21 November. */
  async function keyWithUsage(days: number): Promise<string> {
    const { id, key } = await app.createKey({ label: 'a long label '.repeat(7).trim() });
    await app.database.query(
      `INSERT INTO key_usage
       SELECT account_id, date '2026-11-21' - n, id, 1000 + n * n * 17 % 700, CASE n % 4 WHEN 2 THEN n * 15 ELSE 0 END, n, 1
       FROM api_keys, generate_series(0, $2 - 1) AS n WHERE id = $1`,
      [id, days],
    );
    return key;
  }

  /** Holds the page against all rules of axe-core and the width of both windows. */
  async function flawsInBothLooks(): Promise<string[]> {
    const flaws = await flawsOf(page);
    await look(LOOKS[1]);
    return [...flaws, ...(await flawsOf(page, OF_LOOKS))];
  }

  const valueOf = (expression: string) => page.evaluate(expression);
  const textOf = (selector: string) => page.locator(selector).innerText();

  it('the front page shows the scopes of a key and how much is left, with the keyboard only, and masks the key', async () => {
    const { key } = await app.createKey({ label: 'a label', choice: SMALL, scopes: ['pets:read'] });
    await app.get('/v1/pets', { key });
    const focused: unknown[] = [];
    for (let tabs = 0; tabs < 6; tabs += 1) {
      await page.keyboard.press('Tab');
      focused.push(await valueOf('document.activeElement.id || document.activeElement.innerText'));
    }
    expect(focused).toEqual([
      'API reference',
      'Guide',
      'Events and webhooks',
      'Error codes',
      'Agents',
      'key',
    ]);
    expect(await show(page, ` ${key} `)).toMatch(
      /^The key is valid\. It belongs to the account account \d+, plan enterprise\.$/,
    );
    expect(await textOf('#minute-text')).toBe('1 of 2 requests are left this minute.');
    expect(await textOf('#day-text')).toBe('999 of 1,000 requests are left today (UTC).');
    expect(await valueOf('minute.value / minute.max')).toBe(0.5);
    expect(await textOf('#facts')).toMatch(/Label\s+a label\s[^]*Scopes\s+pets:read\s/);
    expect(await valueOf('key.type')).toBe('password');
    expect(await page.content()).not.toContain(key);
  });

  it('the front page keeps the key only in its memory: not in the URL, in storage, or in the field after a reload or a way back', async () => {
    await showUsage(page, app.key);
    expect(page.url()).toBe(`${visited.origin}/`);
    const stored = await page.context().storageState({ indexedDB: true });
    expect(stored).toEqual({ cookies: [], origins: [] });
    expect(await valueOf('JSON.stringify([sessionStorage, history.state, window.name])')).not.toContain(
      'ask_',
    );
    expect(await valueOf("[key.autocomplete, key.hasAttribute('name')]")).toEqual(['off', false]);
    // A browser that keeps the page for the way back sends this event; the browser of this spec keeps none.
    await valueOf("dispatchEvent(new Event('pagehide'))");
    expect(await valueOf('key.value')).toBe('');
    expect(await page.content()).not.toContain(app.key);
    await show(page, app.key);
    await page.reload();
    expect(await valueOf('key.value')).toBe('');
    await show(page, app.key);
    await page.goto(`${visited.origin}/guide/errors`);
    await page.goBack();
    expect(await valueOf('key.value')).toBe('');
  });

  it('the programs of the front page run as they are copied: the list, an order, its cancellation', async () => {
    const { key } = await app.createKey({
      scopes: ['pets:read', 'pets:write', 'orders:read', 'orders:write', 'events:read'],
    });
    // In a store without animals they create one.
    await app.database.truncate('pets CASCADE');
    // Other programs cannot resolve the name of the other specs.
    await page.goto(app.url);
    await show(page, key);
    for (const [language, interpreter, file] of [
      ['curl', 'sh', 'first-flow.sh'],
      ['JavaScript', process.execPath, 'first-flow.mjs'],
      ['Python', 'python3', 'first_flow.py'],
    ] as const) {
      const printed = await runProgram(interpreter, file, await copied(page, language));
      expect([language, printed]).toEqual([language, expect.stringMatching(/Rex[^]*placed[^]*cancelled/)]);
    }
    const orders = (await app.get('/v1/store/orders', { key })).json;
    expect(orders.map(({ status }: any) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    visited.problems.splice(0);
  });

  it('the front page explains each problem in one sentence, gives the field the focus, shows nothing else, and is accessible', async () => {
    await show(page, app.key);
    // The browser itself explains these problems, and sends nothing.
    for (const key of ['', 'ask_test_žofie', 'two words']) {
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      expect(await valueOf("key.matches(':invalid') && key === document.activeElement")).toBe(true);
      expect(await page.locator('#result').isVisible()).toBe(false);
    }
    expect(await show(page, 'wrong')).toBe('The API key is not valid.');
    expect(await valueOf("[document.activeElement.id, key.getAttribute('aria-invalid')]")).toEqual([
      'key',
      'true',
    ]);
    expect(await flawsInBothLooks()).toEqual([]);
    await page.route('**/v1/key', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
    expect(await show(page, app.key)).toBe('The service responded with status 502.');
    await page.route('**/v1/key', (route) => route.fulfill({ status: 200, json: {} }));
    expect(await show(page, app.key)).toBe('The response has an unexpected form.');
    await page.route('**/v1/key', (route) => route.abort());
    expect(await show(page, app.key)).toBe(`The service cannot be reached at ${visited.origin}/v1/key.`);
    await page.unroute('**/v1/key');
    await page.route('**/v1/usage', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
    expect(await showUsage(page, app.key)).toBe('The service responded with status 502.');
    expect(await textOf('#summary')).toMatch(/^The key is valid/);
    expect(await page.locator('#key').getAttribute('aria-invalid')).toBe(null);
    visited.problems.splice(0);
  });

  it('the front page shows that a limit is used up, without a request for the usage, and a ban', async () => {
    const { key } = await app.createKey({ choice: SMALL });
    for (let sent = 0; sent < 3; sent += 1) await app.get('/v1/pets', { key });
    expect(await showUsage(page, key)).toBe('No request is left to read the usage.');
    expect(await textOf('#minute-text')).toBe('0 of 2 requests are left this minute.');
    expect(await page.locator('#ban').isVisible()).toBe(false);
    app.clock.advance({ seconds: 2 });
    await app.get('/v1/pets', { key });
    await show(page, key);
    await page.locator('#ban').waitFor();
    expect(await textOf('#ban')).toMatch(/^The key is banned until .*, because it did not wait/);
  });

  it('works if the base URL is the origin, relative or absolute', async () => {
    for (const publicBaseUrl of ['', 'http://animal-store.test']) {
      const bare = await startApp({ publicBaseUrl }, { beside: app });
      const origin = visited.origin.replace(/\d+$/, new URL(bare.url).port);
      const base = publicBaseUrl || origin;
      // The proxy of such a deployment adds /v1.
      await page.route(`${base}/key`, async (route) => {
        const response = await route.fetch({ url: `${bare.url}/v1/key` });
        await route.fulfill({ response, headers: { 'access-control-allow-origin': '*' } });
      });
      await page.goto(`${origin}/?from=mail#top`);
      expect(await show(page, app.key)).toMatch(/^The key is valid/);
      expect(await page.locator('pre').first().innerText()).toContain(`api='${base}'`);
      await bare.close();
    }
    // They are requests to another host.
    visited.problems.splice(0);
  });

  it.each([
    [0, 'No requests.', 0, undefined],
    [1, '1,000 admitted, 0 of them with 4xx, 1 with 5xx. 0 rejected with 429.', 0, 'Nov 211,000001'],
    [30, '40,335 admitted, 435 of them with 4xx, 30 with 5xx. 1,470 rejected with 429.', 7, 'Nov 211,000001'],
  ])(
    'the front page draws the requests of %i days, with a table for screen readers, and is accessible: %s',
    async (count, sentence, rejected, last) => {
      expect(await showUsage(page, await keyWithUsage(count))).toBe(sentence);
      expect(await page.locator('#usage').isVisible()).toBe(count > 0);
      const bars = page.locator('#bars');
      expect(await bars.locator('.admitted').count()).toBe(count);
      expect(await bars.locator('.rejected').count()).toBe(rejected);
      const rows = await page.locator('#days tr').allTextContents();
      expect([rows.length, rows.at(-1)]).toEqual([count, last]);
      // The page of 30 days has the elements of the others.
      expect(count === 30 ? await flawsInBothLooks() : []).toEqual([]);
    },
  );

  it.each(['/guide', '/guide/events', '/guide/errors', '/guide/details', '/guide/agents'])(
    '%s is accessible',
    async (path) => {
      await page.goto(`${visited.origin}${path}`);
      expect(await flawsInBothLooks()).toEqual([]);
    },
  );

  it('Swagger UI forgets a key with the page, shows and sends each digit beyond 2^53, and fits a telephone', async () => {
    await page.goto(`${visited.origin}/docs#/pets/listPets`);
    expect(await textOf('.opblock.is-open .opblock-description')).toContain(
      'The key needs the scope pets:read',
    );
    await page.locator('.scheme-container button.authorize').click();
    await ui.authorize(app.key);
    const stored = '[localStorage.length, sessionStorage.length]';
    expect(await valueOf(stored)).toEqual([0, 0]);
    expect(await page.context().storageState({ indexedDB: true })).toEqual({ cookies: [], origins: [] });

    const list = await ui.execute(await ui.open('pets', 'listPets'), { categoryId: MIN });
    expect(list.status).toBe('200');
    for (const each of [list.sent.url(), list.curl, list.url])
      expect(each).toMatch(new RegExp(`/v1/pets\\?limit=20&categoryId=${MIN}$|${MIN}'`));

    const block = await ui.open('pets', 'createPet');
    const example = await block.locator('textarea.body-param__text').inputValue();
    const body = example.replace(/"categoryId": \d+/, `"categoryId": ${MAX}`).replace(/Rex|Bella/, 'Žofie');
    const created = await ui.execute(block, {}, body);
    expect([created.status, created.sent.postData()]).toEqual(['201', body]);
    // Without a key of its own in the form, each creation is a new one.
    expect(created.sent.headers()).not.toHaveProperty('idempotency-key');
    for (const each of [created.curl, created.body]) expect(each).toContain(`"categoryId": ${MAX}`);
    expect(created.body).toContain('"name": "Žofie"');
    expect(await flawsOf(page, OF_SWAGGER_UI)).toEqual([]);

    await look(LOOKS[1]);
    expect(await flawsOf(page, OF_SWAGGER_UI)).toEqual([]);
    await page.reload();
    const { status, sent } = await ui.execute(await ui.open('key', 'getKey'));
    expect([status, sent.headers()['prefer']]).toEqual(['401', 'handling=strict']);
    // Chromium logs every response with a status of 400 or higher as an error.
    expect(visited.problems.splice(0)).toHaveLength(2);
    await page.locator('.scheme-container button.authorize').click();
    await ui.authorize(app.key);
    expect((await ui.execute(await ui.open('key', 'getKey'))).status).toBe('200');
    expect(await valueOf(stored)).toEqual([0, 0]);
    expect(await flawsOf(page, OF_SWAGGER_UI)).toEqual([]);
  });
});
