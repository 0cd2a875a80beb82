import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { version } from '../../src/app/store';
import { CODE } from '../../src/platform/errors/error.schemas';
import { runCli } from '../support/cli';

const CODE_FORM = new RegExp(CODE.pattern!);

describe('animal-store new', () => {
  const before = process.cwd();
  let folder: string;
  let environment: Record<string, string>;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'animal-store-new-'));
    process.chdir(folder);
    const bin = mkdtempSync(join(tmpdir(), 'animal-store-bin-'));
    // The last argument is the folder for the package.
    const npm = `#!/bin/sh\nfor last; do :; done\ntouch "$last/animal-store-${version}.tgz"\n`;
    writeFileSync(join(bin, 'npm'), npm, { mode: 0o755 });
    environment = { PATH: `${bin}:${process.env['PATH']}` };
  });
  afterAll(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });

  const create = (...args: string[]) => runCli(['new', ...args], environment);
  const filesOf = (name: string) =>
    readdirSync(name, { recursive: true, encoding: 'utf8' }).filter((path) => /\w[.]\w+$/.test(path));
  const textOf = (name: string, path: string) => readFileSync(join(name, path), 'utf8');

  it('writes a package with its own names, the packed store in its folder, and prints the next commands', async () => {
    const { status, out } = await create('vet-clinic', 'boxes');
    expect([status, out]).toEqual([
      0,
      'Created the folder vet-clinic. Next:\n  cd vet-clinic && npm install && npm test\n  npm start\n',
    ]);
    expect(filesOf('vet-clinic').sort()).toEqual([
      'README.md',
      `animal-store-${version}.tgz`,
      'package.json',
      'src/boxes.controller.ts',
      'src/boxes.dto.ts',
      'src/boxes.errors.ts',
      'src/boxes.service.ts',
      'src/main.ts',
      'src/migrations/0001-boxes.ts',
      'src/vet-clinic.module.ts',
      'src/vet-clinic.scopes.ts',
      'src/vet-clinic.settings.ts',
      'test/vet-clinic.test.ts',
      'tsconfig.json',
    ]);
    const { name, dependencies } = JSON.parse(textOf('vet-clinic', 'package.json'));
    expect([name, dependencies['animal-store']]).toEqual(['vet-clinic', `file:animal-store-${version}.tgz`]);
    expect(textOf('vet-clinic', '.gitignore')).toContain('node_modules/');
    expect(textOf('vet-clinic', '.npmrc')).toBe('legacy-peer-deps=false\n');
    const all = filesOf('vet-clinic')
      .map((path) => textOf('vet-clinic', path))
      .join('\n');
    expect(all).not.toMatch(/grooming|appointment/i);
    for (const form of [
      "@Controller('vet-clinic/boxes')",
      'class BoxesService',
      'vetClinicScopes.read',
      'vet_clinic_boxes',
      'VetClinicBoxes1795300000000',
      'listVetClinicBoxes',
      'VET_CLINIC_MAX_BOOKED',
      'vet_clinic_box_not_found',
      'Book a box',
    ])
      expect(all).toContain(form);
  });

  it.each([
    ['x', 'puppies', 'XPuppy'],
    ['visits', 'visits', 'VisitsVisit'],
    ['appointments', 'groomings', 'AppointmentsGrooming'],
    ['new', 'classes', 'NewClass'],
    ['old', 'promises', 'OldPromise'],
    ['zoo-1', 'hoofs', 'Zoo1Hoof'],
    ['zoo-2', 'dates', 'Zoo2Date'],
    ['zoo-3', 'queries', 'Zoo3Query'],
    ['zoo-4', 'rows', 'Zoo4Row'],
    ['his', 'statuses', 'HisStatus'],
    ['test', 'staff', 'TestStaffItem'],
    ['this-2', 'news', 'This2New'],
    ['a-1', 'b-2c', 'A1B2cItem'],
    ['grooming', 's', 'GroomingSItem'],
    ['constructor', 'pet', 'ConstructorPetItem'],
    ['a-name-of-24-charactersz', 'prototypes', 'ANameOf24CharacterszPrototype'],
  ])('of %s %s writes sources that parse, with the class %s', async (name, resource, type) => {
    const { status, all } = await create(name, resource);
    expect([status, all]).toEqual([0, expect.stringMatching(/^Created/)]);
    const paths = filesOf(name).filter((path) => path.endsWith('.ts'));
    const compilerOptions = { target: ts.ScriptTarget.ES2023, experimentalDecorators: true };
    const mistakes = paths.flatMap(
      (path) =>
        ts.transpileModule(textOf(name, path), { reportDiagnostics: true, compilerOptions }).diagnostics,
    );
    expect([paths.length, mistakes]).toEqual([10, []]);
    expect(textOf(name, `src/${resource}.dto.ts`)).toContain(`export class ${type} {`);
    expect(textOf(name, `src/${resource}.dto.ts`)).toContain(`name: '${type}Status'`);
    const codes = textOf(name, `src/${resource}.errors.ts`).matchAll(/^  (\w+): {$/gm);
    expect(Array.from(codes, ([, code]) => code)).toEqual(Array(3).fill(expect.stringMatching(CODE_FORM)));
  });

  it.each([
    ['pets', 'visits', 'The store has the extension pets: choose another name.'],
    ['key', 'visits', 'The store has the extension key: choose another name.'],
    ['mcp', 'visits', 'The store has the extension mcp: choose another name.'],
    ['orders', 'visits', 'The store has the extension orders: choose another name.'],
    ['zoo', 'pets', 'The name petErrors of zoo pets is taken: choose another word.'],
    ['zoo', 'keys', 'The name keyId of zoo keys is taken: choose another word.'],
    ['zoo', 'orders', 'The name orderId of zoo orders is taken: choose another word.'],
    ['pet', 'statuses', 'The name PetStatus of pet statuses is taken: choose another word.'],
  ])('rejects %s %s, whose names exist already', async (name, resource, sentence) => {
    const { status, all } = await create(name, resource);
    expect([status, all]).toEqual([1, `${sentence}\n`]);
    expect(readdirSync('.')).not.toContain(name);
  });

  it.each([
    'Vet',
    'vet_clinic',
    'vet-',
    '-vet',
    'vet--clinic',
    '1vet',
    'vet/../clinic',
    '.',
    'véto',
    'x-s-',
    'a'.repeat(25),
  ])('exits with 2 for the name or resource %j', async (word) => {
    for (const args of [
      [word, 'visits'],
      ['zoo', word],
    ]) {
      const { status, all } = await create('--', ...args);
      expect([status, all]).toEqual([2, expect.stringContaining(': give lower-case words')]);
    }
    expect(readdirSync('.')).not.toContain('zoo');
  });

  it('writes into an empty folder only', async () => {
    mkdirSync('empty');
    mkdirSync('full/src', { recursive: true });
    writeFileSync('file', '');
    expect((await create('empty', 'visits')).status).toBe(0);
    for (const name of ['full', 'file']) {
      const { status, all } = await create(name, 'visits');
      const sentence = `${name} exists and is not an empty folder: choose another name, or move it.\n`;
      expect([status, all]).toEqual([1, sentence]);
    }
    expect(filesOf('full')).toEqual([]);
  });

  it('exits with 1 and one sentence without npm, and can be repeated', async () => {
    const { status, all } = await runCli(['new', 'clinic', 'visits'], { PATH: folder });
    expect([status, all]).toEqual([1, expect.stringMatching(/^npm cannot pack .*: install npm, .*[.]\n$/)]);
    expect((await create('clinic', 'visits')).status).toBe(0);
  });

  it('has --help and --json', async () => {
    const help = await create('--help');
    expect([help.status, help.out]).toEqual([0, expect.stringContaining('Usage: animal-store new')]);
    const { status, json } = await create('--json', 'kennels', 'visits');
    expect([status, json()]).toEqual([0, { name: 'kennels', resource: 'visits' }]);
  });
});
