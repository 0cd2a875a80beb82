import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { send } from '../support/http';
import {
  copyPackage,
  installExample,
  nodePackage,
  npm,
  runIn,
  startExample,
} from './support/installed-example';

const APPOINTMENTS = '/v1/grooming/appointments';
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
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
      const tokens = readFileSync(join(__dirname, 'support', 'tokens.extension.ts'), 'utf8');
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

  it('passes its own tests', () => {
    expect(npm(folder, 'test')).toMatch(/^\S fail 0$/m);
  });

  it('starts with npm start; its command line creates keys with and without its scope', async () => {
    const store = await startExample(folder);
    const statusWith = async (...scopes: string[]): Promise<number> => {
      const create = ['keys', 'create', '--account', 'acme', ...scopes, '--json'];
      const { key } = JSON.parse(npm(folder, 'run', '-s', 'cli', '--', ...create));
      return (await send(store.url, 'GET', APPOINTMENTS, { key, isDocumented })).status;
    };
    try {
      expect(await statusWith()).toBe(403);
      expect(await statusWith('--scopes', 'grooming:read')).toBe(200);
    } finally {
      await store.stop();
    }
  });

  describe('animal-store new, with names of several words and an irregular plural,', () => {
    beforeAll(() => {
      npm(folder, 'exec', '--', 'animal-store', 'new', 'pet-lab', 'blood-analyses');
      npm(join(folder, 'pet-lab'), 'install', '--prefer-offline', '--no-audit', '--no-fund');
    });

    // They differ in what `node --test` takes, in the shell of scripts, and in the packages that a package can see.
    it.each([
      ['20', 'npm', []],
      ['22', 'yarn', ['@yarnpkg/cli-dist@4']],
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
      expect(again.key).toBe('npm run -s cli -- keys create --account NAME');
    });
  });
});
