import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { OWN_EXTENSIONS, version } from '../app/store';
import { UserError } from '../platform/errors/user-error';
import { partName } from './arguments';
import { collectField, type NewField } from './new-fields';
import type { OutputCommand } from './output';

const ROOT = join(__dirname, '..', '..');
const EXAMPLE = join(ROOT, 'examples', 'grooming');
/** The files of a new package that are as in the example. */
const FROM_EXAMPLE = ['package.json', 'tsconfig.json', 'src/main.ts', 'src/grooming.scopes.ts'];
/** Its other files. Their lines may have marks: see `expand`. */
const TEMPLATE = join(__dirname, 'template');

/** The parts of a new module besides its five operations. The first three add the animal. */
const PARTS = ['hold', 'listener', 'setting', 'limit'];

/** The names that a source file declares or imports. */
const DECLARED = /(?<=\b(?:class|const|type) )\w+|(?<=^import [^;]*)\w+/gm;
/** The S in `AppointmentStatus` belongs to the next word. */
const NAMES = /(?<=(_?))(GROOMING|APPOINTMENTS|[Gg]rooming|[Aa]ppointments?)(?=([A-Z_]?))/g;
/** The names of the template that are renamed. */
const RENAMED = /\w*(?:grooming|appointment)\w*/gi;

interface NewOptions {
  readonly field?: readonly NewField[];
  readonly with?: readonly string[];
  readonly json?: true;
}

/** The text of a file by its path. */
type Files = readonly (readonly [path: string, text: string])[];

export function addNewCommand(command: OutputCommand): void {
  command
    .description('write a package with a module of your own, which starts and passes its tests')
    .argument('<name>', 'name of the extension and of its folder, such as vet-clinic', partName)
    .argument('<resource>', 'what it keeps, in the plural, such as appointments', partName)
    .option(
      '--field <name:type>',
      'a member of the resource, such as dueAt:timestamp?; repeat it',
      collectField,
    )
    .option('--with <parts>', `any of ${PARTS.join(',')}`, partsOf)
    .prints(async (name: string, resource: string, { field, with: parts = [], json }: NewOptions) => {
      const rename = renamingOf(name, resource);
      const files = filesOf(field ?? collectField('name:text'), parts, rename);
      if (existsSync(name) && (!statSync(name).isDirectory() || readdirSync(name).length > 0))
        throw new UserError(`${name} exists and is not an empty folder: choose another name, or move it.`);
      const say = (step: string) => json !== true && process.stderr.write(`${step}\n`);
      say(`Packing animal-store ${version} into ${name}…`);
      packInto(resolve(name));
      for (const [path, text] of files) {
        say(`Writing ${join(name, path)}`);
        mkdirSync(dirname(join(name, path)), { recursive: true });
        writeFileSync(join(name, path), text);
      }
      // npm would take a package in the checkout for a part of it.
      const move = resolve('.') === ROOT ? `mv ${name} .. && cd ../${name}` : `cd ${name}`;
      const next = `  ${move} && npm install && npm test\n  npm start`;
      return { json: { name, resource }, text: `Created the folder ${name}. Next:\n${next}` };
    });
}

function partsOf(text: string): string[] {
  const parts = text.split(',');
  if (parts.every((each) => PARTS.includes(each))) return parts;
  throw new InvalidArgumentError(`Give a comma-separated list of ${PARTS.join(', ')}.`);
}

/** @throws UserError if a name is taken */
function filesOf(
  fields: readonly NewField[],
  parts: readonly string[],
  rename: (text: string) => string,
): Files {
  const needsPet = parts.some((each) => each !== 'limit');
  if (needsPet && fields.some(({ member }) => member === 'petId'))
    throw new UserError('--with hold, listener or setting adds the field petId: remove it.');
  const templates = readdirSync(TEMPLATE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.txt'))
    .map((path) => [path.slice(0, -'.txt'.length), readFileSync(join(TEMPLATE, path), 'utf8')] as const);
  const copies = FROM_EXAMPLE.map((path) => [path, readFileSync(join(EXAMPLE, path), 'utf8')] as const);
  const files = [...copies, ...templates];
  const chosen = new Set([...parts, ...(needsPet ? ['pet'] : [])]);
  const decorators = new Set(['AtLeastOne', 'Int64', ...fields.map(({ decorator }) => decorator)]);
  const imports = [...decorators].sort().join(', ');
  const texts = { imports, services: servicesFor(chosen), Resource: rename('GroomingAppointment') };
  const all = [`import { ${imports}, ${texts.services} };`, ...files.map(([, text]) => text)].join('\n');
  requireFreeNames(rename, all, readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
  const file = `"animal-store": "file:animal-store-${version}.tgz"`;
  return [
    ...files.map(
      ([path, text]) =>
        [
          rename(path),
          expand(rename(text), chosen, fields, texts).replace(/"animal-store": ".*"/, () => file),
        ] as const,
    ),
    // npm leaves it out of packages.
    ['.gitignore', 'dist/\nnode_modules/\n.data/\n'] as const,
    // A user's setting would leave out NestJS, a peer of animal-store.
    ['.npmrc', 'legacy-peer-deps=false\n'] as const,
  ].filter(([, text]) => text !== '');
}

/** Returns what the service imports from `animal-store`, in the order of their names. */
function servicesFor(parts: ReadonlySet<string>): string {
  const names = { setting: 'CONFIG, type ConfigOf', listener: 'OrderEvents', hold: 'PetHolds' };
  const chosen = Object.entries(names).flatMap(([part, each]) => (parts.has(part) ? each : []));
  return [...chosen, 'pages', ...(parts.has('pet') ? ['PetsService'] : []), 'Sql'].join(', ');
}

/**
 * Expands a template. A line that ends with `//+a|b` stands only if a part is chosen, with `//-a` only if it is not; with
 * `//*` it stands once for each field. With `{` at its end a mark is a line before several, which end at `//}`.
 */
function expand(
  template: string,
  parts: ReadonlySet<string>,
  fields: readonly NewField[],
  texts: Readonly<Record<string, string>>,
): string {
  const isChosen = (part: string) => parts.has(part.replace('!', '')) !== part.startsWith('!');
  const keep = (text: string, mark: string) => {
    if (mark === '*') return fields.map((each) => fill(text, each.texts)).join('');
    const alternatives = mark.slice(1).split('|');
    const hasPart = alternatives.some((all) => all.split('&').every(isChosen));
    return hasPart === mark.startsWith('+') ? text : '';
  };
  const expanded = template
    .replaceAll(/^(.*?) ?\/\/([+-][\w|&!]+|\*)$\n/gm, (_, line: string, mark: string) =>
      keep(`${line}\n`, mark),
    )
    .replaceAll(/^ *\/\/([+-][\w|&!]+|\*)\{\n(.*?)^ *\/\/\}\n/gms, (_, mark: string, lines: string) =>
      keep(lines, mark),
    );
  return fill(expanded, texts);
}

function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(Resource|[a-z]+)/g, (token, name: string) => values[name] ?? token);
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
