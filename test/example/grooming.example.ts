import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { CHROMIUM_FLAGS, findChromium } from '../browser/support/chromium';
import { send } from '../support/http';
import {
  installExample,
  npm,
  removeExample,
  runIn,
  startExample,
  type StartedExample,
} from './support/installed-example';
import { PLANTED_MISTAKES } from './support/planted-mistakes';

const APPOINTMENTS = '/v1/grooming/appointments';
const SCREENSHOTS = join(__dirname, '..', '..', 'test-results');
const isDocumented = false;

describe('examples/grooming, installed with the packed store in an empty folder,', () => {
  let folder: string;
  beforeAll(() => {
    folder = installExample();
  }, 300_000);
  afterAll(() => removeExample(folder));

  it('passes its own tests', () => {
    expect(npm(folder, 'test')).toMatch(/# fail 0|fail 0/);
  }, 120_000);

  describe('after npm start', () => {
    let store: StartedExample;
    beforeAll(async () => {
      store = await startExample(folder);
    }, 120_000);
    afterAll(() => store.stop());

    const request = (method: string, path: string, options: object = {}) =>
      send(store.url, method, path, { key: store.key, isDocumented, ...options });
    const book = (petId: number, startsAt: string) =>
      request('POST', APPOINTMENTS, { body: { petId, startsAt } });

    it('books (201), pages with Link, rejects with its 409, and admits five bookings a minute (429)', async () => {
      const { json: pet } = await request('POST', '/v1/pets', { body: { name: 'Rex', categoryId: 3 } });
      const time = '2027-03-01T09:00:00.000Z';
      const first = await book(pet.id, time);
      expect([first.status, first.headers['location']]).toEqual([201, `${APPOINTMENTS}/1`]);
      expect((await book(pet.id, time)).status).toBe(201);
      expect((await book(pet.id, time)).json).toMatchObject({ code: 'no_place_free', status: 409 });
      const { status, headers } = await request('GET', `${APPOINTMENTS}?limit=1`);
      expect([status, headers['link']]).toEqual([200, expect.stringContaining('rel="next"')]);
      await book(pet.id, '2027-03-01T10:00:00.000Z');
      await book(pet.id, '2027-03-01T11:00:00.000Z');
      const limited = await book(pet.id, '2027-03-01T12:00:00.000Z');
      expect(limited.json).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
      expect(limited.headers['x-ratelimit-limit']).toBe('5');
    });

    it('returns 403 without its scope; its command line creates keys with it', async () => {
      const create = (...scopes: string[]) =>
        JSON.parse(
          npm(folder, 'run', '-s', 'cli', '--', 'keys', 'create', '--account', 'acme', ...scopes, '--json'),
        );
      const { key } = create();
      const response = await request('GET', APPOINTMENTS, { key });
      expect(response.json).toMatchObject({ code: 'insufficient_scope', status: 403 });
      const allowed = create('--scopes', 'grooming:read');
      expect((await request('GET', APPOINTMENTS, { key: allowed.key })).status).toBe(200);
    });

    it('shows its tag in Swagger UI', async () => {
      const browser = await chromium.launch({ executablePath: findChromium() ?? '', args: CHROMIUM_FLAGS });
      try {
        const page = await browser.newPage({ viewport: { width: 1_200, height: 1_600 } });
        await page.goto(`${store.url}/docs`);
        await page.locator('#operations-tag-grooming').waitFor();
        expect(await page.locator('[id^="operations-grooming-"]').count()).toBe(3);
        mkdirSync(SCREENSHOTS, { recursive: true });
        await page.screenshot({ path: join(SCREENSHOTS, 'grooming.png'), fullPage: true });
      } finally {
        await browser.close();
      }
    });
  });

  describe('brokenPromises names each mistake of a broken copy:', () => {
    let found: ReadonlyMap<string, readonly string[]>;
    beforeAll(() => {
      const program = join(__dirname, 'support', 'broken-copies.cjs');
      const input = JSON.stringify(PLANTED_MISTAKES.map((mistake) => mistake.slice(0, 4)));
      found = new Map(JSON.parse(runIn(folder, process.execPath, [program], input)));
    }, 300_000);

    it.each(PLANTED_MISTAKES)('%s', (title, _file, _from, _to, sentence) => {
      expect(found.get(title)).toContainEqual(expect.stringMatching(sentence));
    });
  });
});
