import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { peerDependencies } from '../../package.json';
import { OWN_EXTENSIONS, version } from '../../src/app/store';
import { runCli } from '../support/cli';

const ROOT = join(__dirname, '..', '..');

/** "Cannot use namespace as a type": other packages have any type here, because theirs take seconds to read. */
const ANY_AS_TYPE = 2709;

/** Compiles the package in a folder. @returns the messages of its mistakes */
function mistakesOf(folder: string): string[] {
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  const others = join(folder, 'others.d.ts');
  writeFileSync(others, "declare module '*';");
  const typeRoots = [join(ROOT, 'node_modules', '@types')];
  const given = { ...options, rootDir: '/', noEmit: true, noImplicitAny: false, typeRoots };
  const program = ts.createProgram([...fileNames, others], given);
  return fileNames
    .flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)))
    .filter(({ code }) => code !== ANY_AS_TYPE)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

describe('animal-store new', () => {
  const before = process.cwd();
  let folder: string;
  let environment: Record<string, string>;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'animal-store-new-'));
    process.chdir(folder);
    // The last argument is the folder for the package.
    const npm = `#!/bin/sh\nfor last; do :; done\ntouch "$last/animal-store-${version}.tgz"\n`;
    writeFileSync('npm', npm, { mode: 0o755 });
    environment = { PATH: `${folder}:${process.env['PATH']}` };
  });
  afterAll(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });

  const filesOf = (name: string) => readdirSync(name, { recursive: true, encoding: 'utf8' }).sort();
  const textOf = (name: string, path: string) => readFileSync(join(folder, name, path), 'utf8');

  it('copies the example with its own names into a package that compiles, with the packed store and its peers, and scripts that every package manager runs', async () => {
    const { status, out } = await runCli(['new', 'vet-clinic', 'check-ups'], environment);
    const next = 'Created vet-clinic. Next: cd vet-clinic && npm install && npm test\n';
    expect([status, out]).toEqual([0, next]);
    const files = filesOf('vet-clinic');
    expect(files).toEqual(
      expect.arrayContaining(['.gitignore', '.npmrc', 'README.md', 'animal-store.tgz', 'src/main.ts']),
    );
    const sources = files.filter((path) => /[.](ts|json|md)$/.test(path));
    const all = sources.map((path) => `${path}\n${textOf('vet-clinic', path)}`).join('\n');
    expect(all).not.toMatch(/grooming|appointment/i);
    for (const form of [
      'src/vet-clinic.module.ts',
      'src/migrations/0001-check-ups.ts',
      '"animal-store": "file:animal-store.tgz"',
      "@Controller('vet-clinic/check-ups')",
      'class CheckUpsService',
      'vetClinicScopes.read',
      'VET_CLINIC_MAX_BOOKED',
      'CREATE TABLE vet_clinic_check_ups',
      'VetClinicCheckUps1795300000000',
      'listVetClinicCheckUps',
      'checkUpErrors.vet_clinic_check_up_not_found',
      "name: 'VetClinicCheckUpStatus'",
      'Get one check-up',
    ])
      expect(all).toContain(form);
    expect(mistakesOf(join(folder, 'vet-clinic'))).toEqual([]);
    const { scripts, dependencies } = JSON.parse(textOf('vet-clinic', 'package.json'));
    // Yarn has a shell of its own.
    expect(Object.values(scripts).join('\n')).not.toMatch(/\bexec\b/);
    expect(dependencies).toMatchObject(peerDependencies);
  });

  it.each(['puppies Puppy', 'boxes Box', 'houses House', 'staff Staff', 'statuses Status', 'series Series'])(
    'names one of the things: %s',
    async (words) => {
      const [things, type] = words.split(' ');
      rmSync('zoo', { recursive: true, force: true });
      expect((await runCli(['new', 'zoo', things!], environment)).status).toBe(0);
      expect(textOf('zoo', `src/${things}.dto.ts`)).toContain(`export class Zoo${type} {`);
    },
  );

  it.each(OWN_EXTENSIONS.map(({ name }) => name))('rejects %s, a name of the store', async (name) => {
    expect((await runCli(['new', name, 'visits'], environment)).status).toBe(2);
  });

  it('writes into a new folder only', async () => {
    writeFileSync('file', '');
    const { status, all } = await runCli(['new', 'file', 'visits'], environment);
    expect([status, all]).toEqual([1, 'file exists. Choose another name, or move it.\n']);
  });

  it('exits with 1 and one sentence without npm, can be repeated, and keeps a packed store of the working folder', async () => {
    const packed = `animal-store-${version}.tgz`;
    writeFileSync(packed, 'kept');
    const { status, all } = await runCli(['new', 'clinic', 'visits'], { PATH: tmpdir() });
    expect([status, all]).toEqual([
      1,
      'Packing animal-store.\nnpm cannot pack animal-store. Check npm and this folder.\n',
    ]);
    expect((await runCli(['new', 'clinic', 'visits'], environment)).status).toBe(0);
    expect(readFileSync(packed, 'utf8')).toBe('kept');
  });
});
