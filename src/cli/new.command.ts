import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { version } from '../app/store';
import { UserError } from '../platform/errors/user-error';
import { partName } from './arguments';
import { renamingOf, requireFreeNames } from './module-names';
import type { OutputCommand } from './output';

const ROOT = join(__dirname, '..', '..');
const TEMPLATE = join(ROOT, 'examples', 'grooming');
const FILES = /^(README\.md|package\.json|tsconfig\.json|(src|test)\/.*\.ts)$/;

const read = (...path: readonly string[]): string => readFileSync(join(...path), 'utf8');

export function addNewCommand(command: OutputCommand): void {
  command
    .description('write a package with a module of your own, which starts and passes its tests')
    .argument('<name>', 'name of the extension and of its folder, such as vet-clinic', partName)
    .argument('<resource>', 'what it keeps, in the plural, such as appointments', partName)
    .prints(async (name: string, resource: string) => {
      const rename = renamingOf(name, resource);
      const paths = readdirSync(TEMPLATE, { recursive: true, encoding: 'utf8' });
      const files = paths
        .filter((path) => FILES.test(path))
        .map((path) => [path, read(TEMPLATE, path)] as const);
      requireFreeNames(rename, files.map(([, text]) => text).join('\n'), read(ROOT, 'openapi.json'));
      if (existsSync(name) && (!statSync(name).isDirectory() || readdirSync(name).length > 0))
        throw new UserError(`${name} exists and is not an empty folder: choose another name, or move it.`);
      packInto(resolve(name));
      for (const [path, text] of files) {
        const target = join(name, rename(path));
        mkdirSync(dirname(target), { recursive: true });
        const file = `"animal-store": "file:animal-store-${version}.tgz"`;
        writeFileSync(target, rename(text).replace(/"animal-store": ".*"/, file));
      }
      // npm leaves it out of packages.
      writeFileSync(join(name, '.gitignore'), 'dist/\nnode_modules/\n.data/\n');
      const next = `  cd ${name} && npm install && npm test\n  npm start`;
      return { json: { name, resource }, text: `Created the folder ${name}. Next:\n${next}` };
    });
}

/** Packs this package, so that the new one needs no registry for it. A checkout is built first. */
function packInto(folder: string): void {
  const args = existsSync(join(ROOT, 'src')) ? ['run', '-s', 'pack', '--'] : ['pack'];
  try {
    mkdirSync(folder, { recursive: true });
    execFileSync('npm', [...args, '--pack-destination', folder], { cwd: ROOT, stdio: 'pipe' });
  } catch {
    throw new UserError(
      `npm cannot pack animal-store into ${folder}: install npm, and make both folders writable.`,
    );
  }
}
