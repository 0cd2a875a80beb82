import type { Browser } from 'playwright-core';
import { startApp, type TestApp } from '../support/app';
import { aNewPet, fillPets } from '../support/factories';
import { describeWhen } from '../support/it-when';
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

const PAGE = 100;

inChromium('"Try it out" of Swagger UI', () => {
  let app: TestApp;
  let browser: Browser;
  let visited: Visit;
  let ui: SwaggerUi;
  beforeAll(async () => {
    app = await startApp();
    browser = await openBrowser(chromium!);
    visited = await visit(browser, app.url, 'wide');
    ui = new SwaggerUi(visited.page);
    await visited.page.goto(`${visited.origin}/docs`);
    await ui.authorize(app.key);
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it('creates, changes and removes an animal; the response to the removal has no body', async () => {
    const created = await ui.tryOut('pets', 'createPet', {}, '{"name": "Rex", "categoryId": 3}');
    const petId = /"id": (\d+)/.exec(created.body)![1]!;
    const changed = await ui.tryOut('pets', 'updatePet', { petId }, '{"name": "Bello"}');
    const removed = await ui.tryOut('pets', 'deletePet', { petId });
    expect([created.status, changed.status, removed.status]).toEqual(['201', '200', '204']);
    expect(changed.body).toBe(
      [
        '{',
        `  "id": ${petId},`,
        '  "name": "Bello",',
        '  "categoryId": 3,',
        '  "status": "available"',
        '}',
      ].join('\n'),
    );
    expect(removed.body).toBe('');
    expect(visited.problems).toEqual([]);
  });

  it('shows a 304 without a body, and the Error body of a rejection', async () => {
    const petId = String((await app.post('/v1/pets', aNewPet())).json.id);
    const { headers } = await ui.tryOut('pets', 'getPet', { petId });
    const tag = /etag: ("[^"]+")/.exec(headers)![1]!;
    const current = await ui.tryOut('pets', 'getPet', { petId, 'If-None-Match': tag });
    expect(current).toMatchObject({ status: '304', body: '' });
    const rejected = await ui.tryOut('pets', 'createPet', {}, '{"name": 7}');
    expect(rejected.status).toBe('400');
    expect(rejected.body).toMatch(/^\{\n {2}"code": "validation_failed",\n {2}"message": "name /);
    visited.problems.splice(0);
  });

  it(`shows a page of ${PAGE} animals as it was sent`, async () => {
    await fillPets(app, PAGE);
    const { json } = await app.get(`/v1/pets?limit=${PAGE}`);
    const { body } = await ui.tryOut('pets', 'listPets', {
      limit: String(PAGE),
      status: '',
      categoryId: '',
    });
    expect(json).toHaveLength(PAGE);
    expect(body).toBe(JSON.stringify(json, undefined, 2));
    expect(visited.problems).toEqual([]);
  });
});
