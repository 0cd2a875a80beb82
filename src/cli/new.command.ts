import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OWN_EXTENSIONS, version } from '../app/store';
import { UserError } from '../platform/errors/user-error';
import { partName } from './arguments';
import type { OutputCommand } from './output';

const ROOT = join(__dirname, '..', '..');
const TEMPLATE = join(ROOT, 'examples', 'grooming');
const FILES = /^(README\.md|package\.json|tsconfig\.json|(src|test)\/.*\.ts)$/;

/** The names that a source file declares or imports. */
const DECLARED = /(?<=\b(?:class|const|type) )\w+|(?<=^import [^;]*)\w+/gm;
/** The S in `AppointmentStatus` belongs to the next word. */
const NAMES = /(?<=(_?))(GROOMING|APPOINTMENTS|[Gg]rooming|[Aa]ppointments?)(?=([A-Z_]?))/g;
/** The names of the template that are renamed. */
const RENAMED = /\w*(?:grooming|appointment)\w*/gi;

const read = (...path: readonly string[]): string => readFileSync(join(...path), 'utf8');

export function addNewCommand(command: OutputCommand): void {
  command
    .description('write a package with a module of your own, which starts and passes its tests')
    .argument('<name>', 'name of the extension and of its folder, such as vet-clinic', partName)
    .argument('<resource>', 'what it keeps, in the plural, such as appointments', partName)
    .prints(async (name: string, resource: string) => {
      const rename = renamingOf(name, resource);
      const files = readdirSync(TEMPLATE, { recursive: true, encoding: 'utf8' })
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
      // A user's setting would leave out NestJS, a peer of animal-store.
      writeFileSync(join(name, '.npmrc'), 'legacy-peer-deps=false\n');
      // npm would take a package in the checkout for a part of it.
      const move = resolve('.') === ROOT ? `mv ${name} .. && cd ../${name}` : `cd ${name}`;
      const next = `  ${move} && npm install && npm test\n  npm start`;
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

/**
 * Returns a function that renames a text of the template, in which `grooming` is the extension and `appointments` the
 * resource.
 */
function renamingOf(name: string, resource: string): (text: string) => string {
  const singular = /[^-]s$/.test(resource)
    ? resource.replace(/(?<=.)ies$/, 'y').replace(/(?<=ss|[^ao]us|x|ch|sh|zz)es$|s$/, '')
    : `${resource}-item`;
  const names: Readonly<Record<string, string>> = {
    grooming: name,
    appointments: resource,
    appointment: singular,
  };
  return (text) =>
    text
      .replaceAll(/\ban (?=appointment)/g, /^[aeiou]/.test(singular) ? 'an ' : 'a ')
      .replaceAll(NAMES, (word, before, _word, after) =>
        formOf(names[word.toLowerCase()] ?? word, word, `${before}${after}`),
      );
}

/** Writes a name of words joined by dashes in the form of the word that it replaces. @param near what touches the word */
function formOf(name: string, word: string, near: string): string {
  if (word === word.toUpperCase()) return name.replaceAll('-', '_').toUpperCase();
  // An error code has no digits.
  if (near.includes('_')) return name.replaceAll(/\d/g, '').split('-').filter(Boolean).join('_');
  const camelCase = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  if (/^[A-Z]/.test(word)) return camelCase.replace(/^./, (letter) => letter.toUpperCase());
  return /[A-Z]/.test(near) ? camelCase : name;
}

/** @throws UserError if the store, JavaScript or the template itself has one of the new names already */
function requireFreeNames(rename: (text: string) => string, template: string, api: string): void {
  const name = rename('grooming');
  if (OWN_EXTENSIONS.some((each) => each.name === name))
    throw new UserError(`The store has the extension ${name}: choose another name.`);
  const others = new Set(template.match(DECLARED)?.filter((each) => each.search(RENAMED) < 0));
  const taken = Array.from(new Set(template.match(RENAMED)), rename).find(
    (each) => /[A-Z_]/.test(each) && (api.includes(`"${each}"`) || each in globalThis || others.has(each)),
  );
  if (taken === undefined) return;
  throw new UserError(
    `The name ${taken} of ${rename('grooming appointments')} is taken: choose another word.`,
  );
}
