import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { version } from '../app/store';
import { UserError } from '../config/user-error';
import { partName } from './arguments';
import type { OutputCommand } from './output';

const ROOT = join(__dirname, '..', '..');
const EXAMPLE = join(ROOT, 'examples', 'grooming');
const WORDS = /(?<=(_?))(grooming|appointments?)(?=([a-z_]?))/gi;

export function addNewCommand(command: OutputCommand): void {
  command
    .argument('<name>', 'name of the extension and of its folder, such as vet-clinic', partName)
    .argument('<things>', 'what it keeps, in the plural, such as visits', partName)
    .prints(async (name: string, things: string) => {
      const thing = things.replace(/(?<!ser)ies$/, 'y').replace(/(?<=ss|tus|x|[cs]h)es$|(?<!serie)s$/, '');
      const names: Record<string, string> = { grooming: name, appointments: things, appointment: thing };
      const rename = (text: string) =>
        text.replaceAll(WORDS, (word, before, _, after) => {
          const dashed = names[word.toLowerCase()] ?? word;
          if (word === word.toUpperCase()) return dashed.replaceAll('-', '_').toUpperCase();
          if ((before || after) === '_') return dashed.replaceAll('-', '_');
          const first = /^[A-Z]/.test(word) ? '-' : '';
          const camelCase = (first + dashed).replaceAll(/-./g, (dash) => dash.slice(1).toUpperCase());
          return first + after === '' ? dashed : camelCase;
        });
      if (existsSync(name)) throw new UserError(`${name} exists. Choose another name, or move it.`);
      const pack = existsSync(join(ROOT, 'src')) ? ['run', 'pack', '--'] : ['pack'];
      mkdirSync(name);
      process.stderr.write('Packing animal-store.\n');
      const { status } = spawnSync('npm', [...pack, '--pack-destination', resolve(name)], { cwd: ROOT });
      if (status !== 0) rmSync(name, { recursive: true });
      if (status !== 0) throw new UserError('npm cannot pack animal-store. Check npm and this folder.');
      const paths = readdirSync(EXAMPLE, { recursive: true, encoding: 'utf8' });
      for (const path of paths.filter((each) => /^(?!node_modules|dist|[.]).*[.]\w+$/.test(each))) {
        const file = join(name, rename(path));
        const text = rename(readFileSync(join(EXAMPLE, path), 'utf8'));
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text.replace(/(?<="animal-store": ").*(?=")/, 'file:animal-store.tgz'));
      }
      writeFileSync(join(name, '.gitignore'), 'dist/\nnode_modules/\n.data/\n');
      writeFileSync(join(name, '.npmrc'), 'legacy-peer-deps=false\n');
      renameSync(join(name, `animal-store-${version}.tgz`), join(name, 'animal-store.tgz'));
      return { json: { name, things }, text: `Created ${name}. Next: cd ${name} && npm install && npm test` };
    });
}
