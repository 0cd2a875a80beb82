import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { className, type ModuleName, NameError, renaming } from './names';

export const ROOT = join(__dirname, '..', '..');

const TEMPLATE = join(__dirname, 'template');

/** The number and the timestamp of the migration in the template. */
const MIGRATION = /\b0000(?=-)|1700000000000/g;

/** The texts of files, by their paths in the repository. */
export type Files = ReadonlyMap<string, string>;

/**
 * @param scopes those of the store; they begin with the names of its extensions
 * @throws NameError if a folder or an extension has the name
 */
export function requireFree({ plural }: ModuleName, scopes: readonly string[]): void {
  const hasFolder = ['src', 'test'].some((parent) => existsSync(join(ROOT, parent, plural)));
  if (hasFolder || scopes.some((scope) => scope.startsWith(`${plural}:`))) {
    throw new NameError(`The name ${plural} is taken: choose another.`);
  }
}

/**
 * Renders the files of a new module.
 *
 * @param migration the number of its file, and the timestamp in milliseconds of its class
 * @throws NameError if the code of the template uses the name for something else
 */
export function moduleFiles(name: ModuleName, migration: { number: number; timestamp: number }): Files {
  const template = templateFiles();
  requireUnused(name, [...template.values()].join('\n'));
  const rename = renaming(name);
  const render = (text: string) =>
    rename(
      text.replace(MIGRATION, (found) =>
        found === '0000' ? String(migration.number).padStart(found.length, '0') : String(migration.timestamp),
      ),
    );
  return new Map([...template].map(([path, text]) => [render(path), render(text)]));
}

/** Returns the line that adds a module to the list of `src/app/own-extensions.ts`. */
export function extensionLine(name: ModuleName): string {
  return renaming(name)("export { sparePartsExtension } from '../spare-parts';\n");
}

function templateFiles(): Files {
  const entries = readdirSync(TEMPLATE, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(files.map((file) => [file.slice(TEMPLATE.length + 1), readFileSync(file, 'utf8')]));
}

/** A class `Text` or `Page` of the module would be mixed up with the one that its code imports. */
function requireUnused({ plural, singular }: ModuleName, code: string): void {
  for (const name of [plural, singular]) {
    if (new RegExp(`\\b${className(name)}\\b`).test(code)) {
      throw new NameError(
        `The code of a module uses ${className(name)} already: choose another name than ${name}.`,
      );
    }
  }
}
