import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { version } from '../../src/app/store';
import { CODE } from '../../src/platform/errors/error.schemas';
import { runCli } from '../support/cli';

const CODE_FORM = new RegExp(CODE.pattern!);

const ROOT = join(__dirname, '..', '..');
const escaped = (text: string) => text.replaceAll(/[?]/g, '[?]');

/** Compiles packages of the working folder against the sources of the store. @returns the messages of their mistakes */
function mistakesOf(names: readonly string[]): string[] {
  symlinkSync(join(ROOT, 'node_modules'), 'node_modules');
  // TypeScript keeps the working folder of its first use, which may be that of another spec.
  const folders = names.map((name) => resolve(name));
  const { config } = ts.readConfigFile(join(folders[0]!, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const source = (name: string) => [join(ROOT, 'src', name)];
  const files = folders.flatMap((folder) => ts.sys.readDirectory(folder, ['.ts']));
  const program = ts.createProgram(files, {
    ...options,
    rootDir: '/',
    noEmit: true,
    noUnusedLocals: true,
    typeRoots: [join(ROOT, 'node_modules', '@types')],
    paths: {
      'animal-store': source('index.ts'),
      'animal-store/testing': source('testing/index.ts'),
    },
  });
  return files
    .flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)))
    .map(
      ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
}

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
      'vet_clinic_box_not_found',
      'Create a box',
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
    const { status, out } = await create(name, resource, '--with', 'hold,setting');
    expect([status, out]).toEqual([0, expect.stringMatching(/^Created/)]);
    const paths = filesOf(name).filter((path) => path.endsWith('.ts'));
    const compilerOptions = { target: ts.ScriptTarget.ES2023, experimentalDecorators: true };
    const mistakes = paths.flatMap(
      (path) =>
        ts.transpileModule(textOf(name, path), { reportDiagnostics: true, compilerOptions }).diagnostics,
    );
    expect([paths.length, mistakes]).toEqual([10, []]);
    expect(textOf(name, `src/${resource}.dto.ts`)).toContain(`export class ${type} {`);
    const codes = textOf(name, `src/${resource}.errors.ts`).matchAll(/^  (\w+): {$/gm);
    expect(Array.from(codes, ([, code]) => code)).toEqual(Array(3).fill(expect.stringMatching(CODE_FORM)));
    // One account does not use up the maximum of another one.
    const counted = /rows\((\w+), \[accountId, body[.]petId\]/.exec(
      textOf(name, `src/${resource}.service.ts`),
    );
    expect(counted?.[1]).toBe('FIND_OWN_OF_PET');
  });

  const FIELDS = [
    'text',
    'string',
    'integer',
    'int64',
    'number',
    'decimal',
    'boolean',
    'timestamp',
    'date-time',
    'small,very-large',
  ]
    .flatMap((type, at) => [`each${at}:${type}`, `mayBe${at}:${type}?`])
    .concat('order:text', 'user:small,large', 'static:boolean', 'default:integer?');

  it('writes sources of any fields and parts that compile, with a field in at most three places, and prints each step', async () => {
    const fields = FIELDS.flatMap((field) => ['--field', field]);
    const chosen = ['', 'limit', 'hold', 'listener', 'setting', 'hold,listener,setting,limit'];
    for (const [at, parts] of chosen.entries()) {
      const options = [...(at === 1 ? [] : fields), ...(parts ? ['--with', parts] : [])];
      const { status, all } = await create(`kinds-${at}`, 'boxes', ...options);
      expect([status, all]).toEqual([
        0,
        expect.stringMatching(/^Packing .*\n(Writing kinds-\d.*\n){14,}Created /),
      ]);
    }
    const inPackage = filesOf('kinds-5').map((path) => textOf('kinds-5', path));
    expect(inPackage.filter((text) => /mayBe0|may_be0/.test(text))).toHaveLength(3);
    expect(inPackage.join('\n')).not.toMatch(/\/\/[+*}-]|\$[a-zR]/);
    expect(mistakesOf(chosen.map((_, at) => `kinds-${at}`))).toEqual([]);
  });

  it.each([
    ['a'],
    ['a:'],
    ['a:float'],
    ['A:text'],
    ['a_b:text'],
    ['a:small'],
    ['a:small,small'],
    ['a:text??'],
    ['id:text', 'because id is reserved'],
    ['constructor:text', 'because constructor is reserved'],
    ['xmin:text', 'because xmin is reserved'],
    ['twice:text', 'give the field twice once'],
  ])(
    'exits with 2 and one sentence for the field %j',
    async (field, sentence = 'give NAME:TYPE or NAME:TYPE[?], such') => {
      const { status, all } = await create('zoo', 'visits', '--field', 'twice:text', '--field', field);
      expect([status, all]).toEqual([
        2,
        expect.stringMatching(new RegExp(`^error: .* '${escaped(field)}' is invalid.*${sentence}`, 'i')),
      ]);
      expect(readdirSync('.')).not.toContain('zoo');
    },
  );

  it('rejects an unknown part, and a field that a part adds', async () => {
    const { status, all } = await create('zoo', 'visits', '--with', 'hold,foo');
    expect([status, all]).toEqual([2, expect.stringContaining('list of hold, listener, setting, limit')]);
    const other = await create('zoo', 'visits', '--with', 'hold', '--field', 'petId:int64');
    expect([other.status, other.all]).toEqual([
      1,
      '--with hold, listener or setting adds the field petId: remove it.\n',
    ]);
    expect(readdirSync('.')).not.toContain('zoo');
  });

  it.each([
    ['one', 'ofs', 'The name OneOf of one ofs is taken: choose another word.'],
    ['pets', 'visits', 'The store has the extension pets: choose another name.'],
    ['key', 'visits', 'The store has the extension key: choose another name.'],
    ['mcp', 'visits', 'The store has the extension mcp: choose another name.'],
    ['orders', 'visits', 'The store has the extension orders: choose another name.'],
    ['zoo', 'pets', 'The name petErrors of zoo pets is taken: choose another word.'],
    ['zoo', 'keys', 'The name keyId of zoo keys is taken: choose another word.'],
    ['zoo', 'orders', 'The name orderId of zoo orders is taken: choose another word.'],
    ['pet', 'statuses', 'The name PetStatus of pet statuses is taken: choose another word.'],
  ])('rejects %s %s, whose names exist already', async (name, resource, sentence) => {
    const { status, all } = await create(name, resource, '--field', 'size:small,large');
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
    expect([status, all]).toEqual([
      1,
      expect.stringMatching(/^Packing .*\nnpm cannot pack .*: install npm, .*[.]\n$/),
    ]);
    expect((await create('clinic', 'visits')).status).toBe(0);
  });

  it('has --help and --json', async () => {
    const help = await create('--help');
    expect([help.status, help.out]).toEqual([0, expect.stringContaining('Usage: animal-store new')]);
    const { status, all, json } = await create('--json', 'kennels', 'visits');
    expect(all).not.toContain('Writing');
    expect([status, json()]).toEqual([0, { name: 'kennels', resource: 'visits' }]);
  });
});
