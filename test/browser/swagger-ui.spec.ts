import { text } from 'node:stream/consumers';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { Browser, Page } from 'playwright-core';
import { version } from 'swagger-ui-dist/package.json';
import { Int64, Int64List, PageQuery } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { moveSequence } from '../support/factories';
import { itemsExtension } from '../testing/support/items.extension';
import { NOTE, PLACES } from '../testing/support/items.parts';
import { inChromium } from './support/chromium';
import { SwaggerUi } from './support/swagger-ui';
import { openBrowser, overflowOf, visit, type Visit, WINDOWS } from './support/visit';

/** JavaScript rounds it to 9007199254740992. */
const ODD = '9007199254740993';
const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';

/** Numbers of JavaScript cannot tell these from ODD and MAX. */
const EVEN = '9007199254740992';
const BELOW_MAX = '9223372036854775806';

const FIX = 'Find what replaces it, and wrap that in src/platform/openapi/swagger-ui-exact-integers.js.';

class ScalesQuery extends PageQuery {
  @Int64({ optional: true, description: 'Only this weight.', example: BigInt(ODD) })
  readonly weight?: bigint;

  @Int64List({ optional: true, max: 9, description: 'Only these.', example: [BigInt(ODD), BigInt(EVEN)] })
  readonly weights?: bigint[];

  @ApiProperty({ enum: [BigInt(BELOW_MAX), BigInt(MAX)], default: BigInt(MAX) })
  @Int64({ optional: true, description: 'Not more.' })
  readonly most?: bigint;
}

const weight = (example: string) => [Int64({ description: 'Weight in grams.', example: BigInt(example) })];

const KIND = [
  Int64({ optional: true, description: 'Kind.' }),
  ApiPropertyOptional({ enum: [BigInt(ODD), BigInt(MAX)] }),
];

const scales = itemsExtension('scales', {
  body: { weight: weight(ODD), ...PLACES, ...NOTE },
  item: { weight: weight(BELOW_MAX), kind: KIND },
  queryType: ScalesQuery,
  list: () => [],
  create: (body: object) => ({ id: 1n, note: null, ...body }),
});

inChromium('Swagger UI', (chromium) => {
  let app: TestApp;
  let browser: Browser;
  let visited: Visit;
  let page: Page;
  let ui: SwaggerUi;
  beforeAll(async () => {
    app = await startApp({}, { extensions: [scales] });
    await moveSequence(app, 'pets', BigInt(ODD));
    browser = await openBrowser(chromium);
    visited = await visit(browser, app.url, 'wide');
    page = visited.page;
    ui = new SwaggerUi(page);
    await page.goto(`${visited.origin}/docs/index.html`);
    await ui.authorize(app.key);
  });
  afterEach(() => expect(visited.problems.splice(0)).toEqual([]));
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it('sends a body with a real key; the response is shown, copied and downloaded as it is', async () => {
    expect(await page.locator('.opblock.is-open').count()).toBe(0);
    await visited.screenshot('docs', true);
    const body = `{"name": "Žofie", "categoryId": ${MAX}}`;
    const created = await ui.tryOut('pets', 'createPet', {}, body);
    await visited.screenshot('docs-createPet');
    expect(created).toMatchObject({ status: '201', sent: { body } });
    // Without a key of its own in the form, each creation is a new one.
    expect(created.sent.headers).not.toHaveProperty('idempotency-key');
    expect(created.curl).toContain(`"categoryId": ${MAX}}'`);
    expect(created.body).toBe(
      `{\n  "id": ${ODD},\n  "name": "Žofie",\n  "categoryId": ${MAX},\n  "status": "available"\n}`,
    );
    expect(created.headers).toMatch(/x-ratelimit-limit: ?1000/);
    expect(created.headers).toMatch(/x-ratelimit-remaining: ?\d+/);
    expect(created.headers).toMatch(/x-ratelimit-reset: ?\d+/);

    const shown = ui.block('pets', 'createPet').locator('.live-responses-table');
    const downloading = page.waitForEvent('download');
    await shown.locator('button.download-contents').click();
    expect(await text(await (await downloading).createReadStream())).toBe(created.body);

    await shown.locator('.copy-to-clipboard button').click();
    const area = ui.block('pets', 'createPet').locator('textarea.body-param__text');
    await area.fill('');
    await area.press('Control+V');
    expect(await area.inputValue()).toBe(created.body);
  });

  it('sends an id as it is typed, and shows the headers of the deprecation', async () => {
    const fetched = await ui.tryOut('pets', 'getPet', { petId: ODD });
    expect(fetched).toMatchObject({ status: '200', body: expect.stringContaining(`"id": ${ODD},`) });
    for (const each of [fetched.sent.url, fetched.curl, fetched.url])
      expect(each).toContain(`/v1/pets/${ODD}`);
    expect(fetched.headers).toMatch(/sunset: ?Thu, ?05 Dec 2030/);
  });

  it('shows the examples of bodies and the keywords of a schema as they are; "Try it out" sends the examples', async () => {
    const block = await ui.unfold('scales', 'scales_create');
    expect(await block.locator('pre.body-param__example').innerText()).toContain(`"weight": ${ODD},`);
    const response = block.locator('tr[data-code="201"]');
    expect(await response.locator('pre.example').innerText()).toContain(`"weight": ${BELOW_MAX},`);
    await response.getByRole('tab', { name: 'Schema' }).click();
    const schema = response.locator('.model-box');
    const closed = schema.locator('[aria-expanded="false"]');
    while ((await closed.count()) > 0) await closed.evaluateAll((all) => all.forEach((each) => each.click()));
    const shown = await schema.innerText();
    for (const line of [
      `minimum: ${MIN}`,
      `maximum: ${MAX}`,
      `example: ${BELOW_MAX}`,
      `[ ${ODD}, ${MAX} ]`,
    ]) {
      expect(shown).toContain(line);
    }
    const { sent, curl, body } = await ui.tryOut('scales', 'scales_create', {});
    for (const each of [sent.body, curl, body]) expect(each).toContain(`"weight": ${ODD},`);
  });

  it('shows and sends examples, default values and enumerations of parameters as they are', async () => {
    const row = (await ui.unfold('scales', 'scales_list')).locator('tr[data-param-name="most"]');
    expect(await row.innerText()).toContain(`Available values : ${BELOW_MAX}, ${MAX}`);
    expect(await row.innerText()).toContain(`Default value : ${MAX}`);
    const { status, sent, curl, url } = await ui.tryOut('scales', 'scales_list', { most: MAX });
    expect(status).toBe('200');
    const query = `weight=${ODD}&weights=${ODD}&weights=${EVEN}&most=${MAX}`;
    for (const each of [sent.url, curl, url]) expect(each).toContain(query);
  });

  it('has everything that the plug-in for integers wraps', async () => {
    const missing: string[] = await page.evaluate(() => {
      const { SwaggerUIBundle, exactIntegers } = globalThis as any;
      const plain = SwaggerUIBundle({ dom_id: null });
      const { fn, wrapComponents, statePlugins } = exactIntegers({})(plain);
      const has = (name: string) =>
        name in plain.fn || name in plain.specSelectors || plain.getComponents(name) !== undefined;
      return Object.keys({ ...fn, ...wrapComponents, ...statePlugins.spec.wrapSelectors }).filter(
        (name) => !has(name),
      );
    });
    expect(missing.map((name) => `swagger-ui-dist ${version} has no ${name}. ${FIX}`)).toEqual([]);
  });

  it('opens the operation of a link, with its scopes, in a narrow window, and keeps the key until the logout', async () => {
    await page.setViewportSize(WINDOWS.narrow);
    // With another fragment only, the page would not be loaded again.
    await page.goto('about:blank');
    await page.goto(`${visited.origin}/docs?x=1#/pets/listPets`);
    const row = page.locator('.opblock.is-open tr', { hasText: 'x-required-scopes' });
    await row.scrollIntoViewIfNeeded();
    expect(await page.locator('.opblock.is-open').count()).toBe(1);
    expect(await row.innerText()).toContain('["pets:read"]');
    await visited.screenshot('docs-scopes');
    expect(await overflowOf(page)).toBe(0);
    expect(visited.problems).toEqual([]);
    await ui.logOut();
    const filters = { categoryId: MIN, id: [EVEN, ODD, MAX] };
    const { status, sent, curl, url, body } = await ui.tryOut('pets', 'listPets', filters);
    const query = `id=${EVEN}&id=${ODD}&id=${MAX}&categoryId=${MIN}`;
    for (const each of [sent.url, curl, url]) expect(each).toContain(query);
    expect([status, body]).toEqual(['401', expect.stringContaining('"code": "missing_api_key"')]);
    expect(await overflowOf(page)).toBe(0);
    // Chromium logs every response with a status of 400 or higher as an error.
    expect(visited.problems.splice(0)).toEqual([
      `401: ${sent.url}`,
      'console: Failed to load resource: the server responded with a status of 401 (Unauthorized)',
    ]);
  });
});
