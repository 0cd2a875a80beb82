import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { CHROMIUM_FLAGS, findChromium } from '../browser/support/chromium';
import { send } from '../support/http';
import { itWhen } from '../support/it-when';
import {
  copyPackage,
  installExample,
  nodePackage,
  npm,
  removeExample,
  runIn,
  startExample,
  type StartedExample,
} from './support/installed-example';

const APPOINTMENTS = '/v1/grooming/appointments';
const SCREENSHOTS = join(__dirname, '..', '..', 'test-results');
const isDocumented = false;

/** Uses each entry of the package together, and types that it does not name. */
const TEAM = `
  import type { FastifyRequest } from 'fastify';
  import { Clock, defineErrors, pages, type Principal, PetsService } from 'animal-store';
  import { KeyAuthenticator, OWN_AUTHENTICATOR } from 'animal-store/replace';
  import { brokenPromises, startTestStore } from 'animal-store/testing';
  import { tokens } from './tokens.js';

  export const errors = defineErrors({ no_place: { status: 409, when: 'it is full', message: 'No place is free.' } });
  export const KENNELS = pages({ table: 'kennels', columns: 'id', read: ([id]: [bigint]) => ({ id }) });
  export async function promisesOf(request: FastifyRequest) {
    const store = await startTestStore({ extensions: [{ ...tokens, errors: [errors.no_place] }] });
    const clock: Clock = store.clock;
    const pet = await store.app.get(PetsService).get(1n);
    const keys: KeyAuthenticator = store.app.get(OWN_AUTHENTICATOR);
    const identity = await keys.identify(request);
    const principal: Principal | undefined = 'principal' in identity ? identity.principal : request.principal;
    return { broken: await brokenPromises(store), pet, principal, now: clock.now() };
  }
`;

describe('examples/grooming, installed with the packed store in an empty folder,', () => {
  let folder: string;
  beforeAll(() => {
    folder = installExample();
  });
  afterAll(() => removeExample(folder));

  describe('the package', () => {
    const ENTRIES = {
      'animal-store': 'index',
      'animal-store/replace': 'replace',
      'animal-store/testing': 'testing/index',
    };
    const inPackage = (...names: readonly string[]) => join(folder, 'node_modules', 'animal-store', ...names);
    const typesOf = (file: string) => readFileSync(inPackage('dist', `${file}.d.ts`), 'utf8');
    const packed = () =>
      JSON.parse(npm(inPackage(), 'pack', '--dry-run', '--json'))[0] as {
        readonly unpackedSize: number;
        readonly files: readonly { readonly path: string; readonly size: number }[];
      };

    it('unpacks to at most 2 MB without source maps, and has one file of types for each entry', () => {
      const { unpackedSize, files } = packed();
      expect(unpackedSize).toBeLessThan(2_000_000);
      const names = files.map(({ path }) => path).filter((path) => /[.](map|d[.]ts)$/.test(path));
      expect(names.sort()).toEqual(Object.values(ENTRIES).map((file) => `dist/${file}.d.ts`));
    });

    it('can be packed again from the folder in which it is installed', () => {
      const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'))!;
      const names = runIn(folder, 'tar', ['-tzf', archive]).trim().split('\n');
      expect(
        packed()
          .files.map(({ path }) => `package/${path}`)
          .sort(),
      ).toEqual(names.sort());
    });

    it.each(Object.entries(ENTRIES))(
      'has types of %s without internals that name what it exports',
      (entry, file) => {
        const text = typesOf(file);
        expect(text).not.toMatch(/@internal|from '[.]|import\('[.]/);
        const [, names = ''] = /^export \{ (.*) \};$/m.exec(text) ?? [];
        const exported = runIn(folder, process.execPath, ['-p', `Object.keys(require('${entry}')).join()`]);
        expect(
          names
            .replaceAll(/\w+ as /g, '')
            .split(', ')
            .sort(),
        ).toEqual(exported.trim().split(',').sort());
      },
    );

    it('compiles in strict team packages, CommonJS and ES modules, that emit types', () => {
      const types = ['commonjs', 'module'];
      const tokens = readFileSync(join(__dirname, '..', 'modules', 'support', 'tokens.extension.ts'), 'utf8');
      for (const type of types) {
        mkdirSync(join(folder, type));
        writeFileSync(join(folder, type, 'package.json'), JSON.stringify({ type }));
        writeFileSync(join(folder, type, 'tokens.ts'), tokens.replaceAll('../../../src', 'animal-store'));
        writeFileSync(join(folder, type, 'team.ts'), TEAM);
      }
      const compilerOptions = { outDir: 'emitted', declaration: true, skipLibCheck: false };
      const config = { extends: './tsconfig.json', compilerOptions, include: types };
      writeFileSync(join(folder, 'strict.json'), JSON.stringify(config));
      expect(npm(folder, 'exec', '--', 'tsc', '--project', 'strict.json')).toBe('');
    });
  });

  describe('after npm start', () => {
    let store: StartedExample;
    beforeAll(async () => {
      store = await startExample(folder);
    });
    afterAll(() => store.stop());

    const request = (method: string, path: string, options: object = {}) =>
      send(store.url, method, path, { key: store.key, isDocumented, ...options });
    const addPet = async () =>
      (await request('POST', '/v1/pets', { body: { name: 'Rex', categoryId: 3 } })).json.id;
    const book = (petId: number) =>
      request('POST', APPOINTMENTS, {
        body: { petId, startsAt: '2027-03-01T09:00:00.000Z', treatment: 'Bath' },
      });

    it('books (201), pages with Link, rejects with its 409, and admits five bookings a minute (429)', async () => {
      const [petId, otherId] = [await addPet(), await addPet()];
      const first = await book(petId);
      expect([first.status, first.headers['location']]).toEqual([201, `${APPOINTMENTS}/1`]);
      expect((await book(petId)).status).toBe(201);
      expect((await book(petId)).status).toBe(201);
      expect((await book(petId)).json).toMatchObject({ code: 'too_many_grooming_appointments', status: 409 });
      const { status, headers } = await request('GET', `${APPOINTMENTS}?limit=1`);
      expect([status, headers['link']]).toEqual([200, expect.stringContaining('rel="next"')]);
      await book(otherId);
      const limited = await book(otherId);
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

    const executablePath = findChromium() ?? '';
    const itInChromium = itWhen(executablePath !== '', 'needs Chromium');
    itInChromium('shows its tag in Swagger UI', async () => {
      const browser = await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
      try {
        const page = await browser.newPage({ viewport: { width: 1_200, height: 1_600 } });
        await page.goto(`${store.url}/docs`);
        await page.locator('#operations-tag-grooming').waitFor();
        expect(await page.locator('[id^="operations-grooming-"]').count()).toBe(5);
        mkdirSync(SCREENSHOTS, { recursive: true });
        await page.screenshot({ path: join(SCREENSHOTS, 'grooming.png'), fullPage: true });
      } finally {
        await browser.close();
      }
    });
  });

  describe('animal-store new, with names of several words and an irregular plural,', () => {
    const run = (...args: string[]) => npm(join(folder, 'pet-lab'), ...args);
    beforeAll(() => {
      npm(folder, 'exec', '--', 'animal-store', 'new', 'pet-lab', 'blood-analyses');
      run('install', '--prefer-offline', '--no-audit', '--no-fund');
    });

    // They differ in what `node --test` takes, in the shell of scripts, and in the packages that a package can see.
    it.each([
      ['20', 'npm', []],
      ['22', 'yarn', ['@yarnpkg/cli-dist@4']],
      ['24', 'npm', []],
      ['26', 'pnpm', ['pnpm@10']],
    ])('writes a package that passes its tests on Node.js %s with %s', (line, command, managers) => {
      const written = join(folder, 'pet-lab');
      const place = command === 'npm' ? written : copyPackage(written, join(folder, command));
      const packages = [nodePackage(line), ...managers].map((each) => `--package=${each}`);
      const runOnLine = (...args: string[]) =>
        npm(place, 'exec', '--yes', ...packages, '--', command, ...args);
      if (command !== 'npm') {
        // Below another package Yarn needs a lock file, and with CI=true a complete one.
        writeFileSync(join(place, '.yarnrc.yml'), 'enableImmutableInstalls: false\n');
        writeFileSync(join(place, 'yarn.lock'), '');
        runOnLine('install');
      }
      expect(runOnLine('test')).toMatch(/^\S fail 0$/m);
    });

    it('writes a package that starts and responds; its next start prints its command for keys', async () => {
      const store = await startExample(join(folder, 'pet-lab'));
      try {
        const path = '/v1/pet-lab/blood-analyses';
        const { status, json } = await send(store.url, 'GET', path, { key: store.key, isDocumented });
        expect([status, json]).toEqual([200, []]);
      } finally {
        await store.stop();
      }
      const again = await startExample(join(folder, 'pet-lab'));
      await again.stop();
      expect(again.key).toBe(
        'node dist/src/main.js keys create --account NAME --scopes pets:read,pets:write,orders:read,orders:write,pet-lab:read,pet-lab:write',
      );
    });
  });
});
