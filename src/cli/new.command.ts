import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { version } from '../app/store';
import { UserError } from '../config/user-error';
import { partName } from './arguments';
import type { OutputCommand } from './output';

const ROOT = join(__dirname, '..', '..');
const EXAMPLE = join(ROOT, 'examples', 'grooming');

export function addNewCommand(command: OutputCommand): void {
  command
    .argument('<name>', 'name of the extension and of its folder, such as vet-clinic', partName)
    .argument('<things>', 'what it keeps, in the plural, such as visits', partName)
    .prints(async (name: string, things: string) => {
      if (existsSync(name)) throw new UserError(`${name} exists. Choose another name, or move it.`);
      mkdirSync(name);
      packStore(name);
      copyExample(name, things);
      writeFileSync(join(name, '.gitignore'), 'dist/\nnode_modules/\n.data/\n');
      writeFileSync(join(name, '.npmrc'), 'legacy-peer-deps=false\n');
      return { json: { name, things }, text: `Created ${name}. Next: cd ${name} && npm install && npm test` };
    });
}

/** Packs this store as the file `animal-store.tgz` of a folder. @throws UserError, and removes the folder */
function packStore(folder: string): void {
  const isProject = existsSync(join(ROOT, 'src'));
  const pack = isProject ? ['run', 'pack', '--'] : ['pack'];
  process.stderr.write('Packing animal-store.\n');
  const { status } = spawnSync('npm', [...pack, '--pack-destination', resolve(folder)], { cwd: ROOT });
  if (status === 0) {
    renameSync(join(folder, `animal-store-${version}.tgz`), join(folder, 'animal-store.tgz'));
    return;
  }
  rmSync(folder, { recursive: true });
  throw new UserError('npm cannot pack animal-store. Check npm and this folder.');
}

/** Copies the example with other names, in the names of its files, too. */
function copyExample(name: string, things: string): void {
  const thing = things.replace(/(?<!ser)ies$/, 'y').replace(/(?<=ss|tus|x|[cs]h)es$|(?<!serie)s$/, '');
  const names: Record<string, string> = { grooming: name, appointments: things, appointment: thing };
  const rename = (text: string) =>
    text.replaceAll(
      // The `S` of AppointmentStatus is another word.
      /(?<=(_?))(grooming|Grooming|GROOMING|[Aa]ppointments?|APPOINTMENTS?)(?=([A-Za-z_]?))/g,
      (word, before, _, after) => inFormOf(word, names[word.toLowerCase()] ?? word, before, after),
    );
  const paths = readdirSync(EXAMPLE, { recursive: true, encoding: 'utf8' });
  for (const path of paths.filter((each) => /^(?!node_modules|dist|[.]).*[.]\w+$/.test(each))) {
    const file = join(name, rename(path));
    const text = rename(readFileSync(join(EXAMPLE, path), 'utf8'));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text.replace(/(?<="animal-store": ").*(?=")/, 'file:animal-store.tgz'));
  }
}

/**
 * Writes a name with dashes in the form of a word: VET_CLINIC, vet_clinic, VetClinic, vetClinic or vet-clinic.
 *
 * @param before the underscore before the word, if any
 * @param after the letter or underscore after the word, if any
 */
function inFormOf(word: string, dashed: string, before: string, after: string): string {
  const snakeCase = dashed.replaceAll('-', '_');
  const camelCase = dashed.replaceAll(/-./g, (dash) => dash.slice(1).toUpperCase());
  if (word === word.toUpperCase()) return snakeCase.toUpperCase();
  if (before === '_' || after === '_') return snakeCase;
  if (/^[A-Z]/.test(word)) return camelCase.charAt(0).toUpperCase() + camelCase.slice(1);
  return after === '' ? dashed : camelCase;
}
