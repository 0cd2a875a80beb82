import { text } from 'node:stream/consumers';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { Browser } from 'playwright-core';
import { version } from 'swagger-ui-dist/package.json';
import { Int64, Int64List, PageQuery } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { describeWhen } from '../support/it-when';
import { itemsExtension } from '../testing/support/items.extension';
import { findChromium } from './support/chromium';
import { SwaggerUi } from './support/swagger-ui';
import { openBrowser, visit, type Visit } from './support/visit';

// A guard against hanging: Chromium shares the machine with all other specs.
jest.setTimeout(180_000);

const chromium = findChromium();
const inChromium = describeWhen(
  chromium !== undefined,
  'needs Chromium: apt-get install chromium, or CHROMIUM_PATH',
);

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

inChromium('int64 in Swagger UI', () => {
  let app: TestApp;
  let browser: Browser;
  let visited: Visit;
  let ui: SwaggerUi;
  beforeAll(async () => {
    const scales = itemsExtension('scales', {
      body: { weight: weight(ODD) },
      item: { weight: weight(BELOW_MAX), kind: KIND },
      queryType: ScalesQuery,
      list: () => [],
      create: (body: object) => ({ id: 1n, note: null, ...body }),
    });
    app = await startApp({}, { extensions: [scales] });
    browser = await openBrowser(chromium!);
    visited = await visit(browser, app.url, 'wide');
    ui = new SwaggerUi(visited.page);
    await visited.page.goto(`${visited.origin}/docs`);
    await ui.authorize(app.key);
  });
  beforeEach(async () => {
    // With another fragment only, the page would keep its open operations.
    await visited.page.goto('about:blank');
    await visited.page.goto(`${visited.origin}/docs`);
  });
  afterEach(() => expect(visited.problems.splice(0)).toEqual([]));
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it.each([ODD, EVEN, MAX, BELOW_MAX, MIN])(
    '%s in a body is sent, shown, copied and downloaded as it is',
    async (id) => {
      const body = `{"name": "Rex", "categoryId": ${id}}`;
      const created = await ui.tryOut('pets', 'createPet', {}, body);
      expect(created).toMatchObject({ status: '201', sent: { body } });
      expect(created.curl).toContain(`"categoryId": ${id}}'`);
      expect(created.body).toContain(`"categoryId": ${id},`);

      const shown = ui.block('pets', 'createPet').locator('.live-responses-table');
      const downloading = visited.page.waitForEvent('download');
      await shown.locator('button.download-contents').click();
      expect(await text(await (await downloading).createReadStream())).toBe(created.body);

      await shown.locator('.copy-to-clipboard button').click();
      const area = ui.block('pets', 'createPet').locator('textarea.body-param__text');
      await area.fill('');
      await area.press('Control+V');
      expect(await area.inputValue()).toBe(created.body);
    },
  );

  it('the examples of bodies are shown as they are, and "Try it out" sends them', async () => {
    const block = await ui.unfold('scales', 'scales_create');
    expect(await block.locator('pre.body-param__example').innerText()).toContain(`"weight": ${ODD},`);
    expect(await block.locator('tr[data-code="201"] pre.example').innerText()).toContain(
      `"weight": ${BELOW_MAX},`,
    );
    const { sent, curl, body } = await ui.tryOut('scales', 'scales_create', {});
    for (const each of [sent.body, curl, body]) expect(each).toContain(`"weight": ${ODD},`);
  });

  it('examples, default values and enumerations of parameters are shown and sent as they are', async () => {
    const row = (await ui.unfold('scales', 'scales_list')).locator('tr[data-param-name="most"]');
    expect(await row.innerText()).toContain(`Available values : ${BELOW_MAX}, ${MAX}`);
    expect(await row.innerText()).toContain(`Default value : ${MAX}`);
    const { sent, curl, url } = await ui.tryOut('scales', 'scales_list', {});
    const query = `weight=${ODD}&weights=${ODD}&weights=${EVEN}&most=${BELOW_MAX}`;
    for (const each of [sent.url, curl, url]) expect(each).toContain(query);
    expect((await ui.tryOut('scales', 'scales_list', { most: MAX })).sent.url).toContain(`most=${MAX}`);
  });

  it('ids and filters are sent and shown as they are typed', async () => {
    const filters = { categoryId: MIN, id: [EVEN, ODD, MAX] };
    const listed = await ui.tryOut('pets', 'listPets', filters);
    const query = `id=${EVEN}&id=${ODD}&id=${MAX}&categoryId=${MIN}`;
    for (const each of [listed.sent.url, listed.curl, listed.url]) expect(each).toContain(query);
    for (const id of [ODD, MAX, MIN]) {
      const { status, sent, curl, url } = await ui.tryOut('pets', 'getPet', { petId: id });
      expect(status).toBe('404');
      for (const each of [sent.url, curl, url]) expect(each).toContain(`/v1/pets/${id}`);
    }
    visited.problems.splice(0);
  });

  it('a schema shows its bounds, example and enumeration as they are', async () => {
    const block = await ui.unfold('scales', 'scales_create');
    await block.locator('tr[data-code="201"]').getByRole('tab', { name: 'Schema' }).click();
    const schema = block.locator('tr[data-code="201"] .model-box');
    const closed = schema.locator('[aria-expanded="false"]');
    while ((await closed.count()) > 0) await closed.first().click();
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

  it.each([
    [
      'text that is not JSON',
      'application/json',
      'Bad <gateway>',
      "can't parse JSON.  Raw result:\n\nBad <gateway>",
    ],
    ['JSON with two members of one name', 'application/json', '{"id":1,"id":2}', '{\n  "id": 2\n}'],
    ['text of another type', 'text/plain', `{"id":${ODD}}`, `{"id":${ODD}}`],
    ['a fraction and an exponent', 'application/problem+json', '[1.50, 1E400]', '[\n  1.50,\n  1E400\n]'],
  ])('a body with %s is shown', async (_what, contentType, body, expected) => {
    await visited.page.route('**/v1/pets?*', (route) => route.fulfill({ contentType, body }));
    const shown = await ui.tryOut('pets', 'listPets', {});
    await visited.page.unroute('**/v1/pets?*');
    expect(shown.body.slice(0, expected.length)).toBe(expected);
  });

  it('swagger-ui-dist has everything that the plug-in wraps', async () => {
    const missing: string[] = await visited.page.evaluate(() => {
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
