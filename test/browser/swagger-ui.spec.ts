import { text } from 'node:stream/consumers';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { Browser, Page } from 'playwright-core';
import { version } from 'swagger-ui-dist/package.json';
import { Int64, Int64List, PageQuery } from '../../src';
import { startApp, type TestApp } from '../support/app';
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

const FIX = 'Find what replaces it, and wrap that in src/server/openapi/swagger-ui-exact-integers.js.';

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
  handlers: ['list', 'create'],
  // An address with an underscore is deprecated in Swagger UI.
  facts: { list: { id: 'listScales' }, create: { id: 'addScale' } },
  list: () => [],
  create: (body: object) => ({ id: BigInt(ODD), note: null, ...body }),
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
    visited = await visit(browser, app.url, 'narrow');
    page = visited.page;
    ui = new SwaggerUi(page);
  });
  afterEach(() => expect(visited.problems.splice(0)).toEqual([]));
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  // A load and each open operation cost a second of processor time, so the tests share them.
  it('opens the operation of a link, with its scopes, in a narrow window', async () => {
    await page.goto(`${visited.origin}/docs?x=1#/scales/listScales`);
    const row = page.locator('.opblock.is-open tr', { hasText: 'x-required-scopes' });
    await row.scrollIntoViewIfNeeded();
    expect(await page.locator('.opblock.is-open').count()).toBe(1);
    expect(await row.innerText()).toContain('["scales:read"]');
    await visited.screenshot('docs-scopes');
    expect(await overflowOf(page)).toBe(0);
  });

  it('sends an id as it is typed, and no key before one is entered; it shows the headers of the deprecation', async () => {
    const { status, sent, curl, url, headers, body } = await ui.tryOut('pets', 'getPet', { petId: ODD });
    for (const each of [sent.url, curl, url]) expect(each).toContain(`/v1/pets/${ODD}`);
    expect([status, body]).toEqual(['401', expect.stringContaining('"code": "missing_api_key"')]);
    expect(headers).toMatch(/sunset: ?Thu, ?05 Dec 2030/);
    expect(await overflowOf(page)).toBe(0);
    // Chromium logs every response with a status of 400 or higher as an error.
    expect(visited.problems.splice(0)).toEqual([
      `401: ${sent.url}`,
      'console: Failed to load resource: the server responded with a status of 401 (Unauthorized)',
    ]);
  });

  it('shows and sends examples, default values and enumerations of parameters as they are, and typed values', async () => {
    await page.setViewportSize(WINDOWS.wide);
    await ui.authorize(app.key);
    await visited.screenshot('docs', true);
    const parameters = await ui.unfold('scales', 'listScales');
    const rowOf = (name: string) => parameters.locator(`tr[data-param-name="${name}"]`);
    expect(await rowOf('most').innerText()).toContain(`Available values : ${BELOW_MAX}, ${MAX}`);
    expect(await rowOf('most').innerText()).toContain(`Default value : ${MAX}`);
    await ui.open('scales', 'listScales');
    expect(await rowOf('weight').locator('input').inputValue()).toBe(ODD);
    const typed = { weight: MIN, most: MAX };
    const { status, sent, curl, url } = await ui.tryOut('scales', 'listScales', typed);
    expect(status).toBe('200');
    const query = `weight=${MIN}&weights=${ODD}&weights=${EVEN}&most=${MAX}`;
    for (const each of [sent.url, curl, url]) expect(each).toContain(query);
  });

  it('shows the examples of bodies and the keywords of a schema as they are', async () => {
    const block = await ui.unfold('scales', 'addScale');
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
  });

  it('"Try it out" sends the example of a body or a typed one; the response is shown, copied and downloaded as it is', async () => {
    const block = await ui.open('scales', 'addScale');
    const area = block.locator('textarea.body-param__text');
    const example = await area.inputValue();
    expect(example).toContain(`"weight": ${ODD},`);
    const body = example.replace(ODD, MAX).replace('North', 'Žofie');
    const created = await ui.tryOut('scales', 'addScale', {}, body);
    await visited.screenshot('docs-create');
    expect(created).toMatchObject({ status: '201', sent: { body } });
    // Without a key of its own in the form, each creation is a new one.
    expect(created.sent.headers).not.toHaveProperty('idempotency-key');
    expect(created.curl).toContain(`"weight": ${MAX},`);
    expect(created.body).toMatch(
      new RegExp(`^{\n  "id": ${ODD},\n  "name": "Žofie",\n  "weight": ${MAX},\n`),
    );
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
});
