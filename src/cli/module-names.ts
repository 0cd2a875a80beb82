import { OWN_EXTENSIONS } from '../app/store';
import { UserError } from '../platform/errors/user-error';

/** The names that a source file declares or imports. */
const DECLARED = /(?<=\b(?:class|const|type) )\w+|(?<=^import [^;]*)\w+/gm;
/** The names of the template that are renamed. */
const RENAMED = /\w*(?:grooming|appointment)\w*/gi;

/**
 * Returns a function that renames a text of the template, in which `grooming` is the extension and `appointments` the
 * resource.
 */
export function renamingOf(name: string, resource: string): (text: string) => string {
  const singular = /[^-]s$/.test(resource)
    ? resource.replace(/(?<=.)ies$/, 'y').replace(/(?<=s|x|ch|sh|z)es$|s$/, '')
    : `${resource}-item`;
  const names = new Map([
    ['grooming', name],
    ['appointments', resource],
    ['appointment', singular],
  ]);
  return (text) =>
    text
      .replaceAll(/\ban (?=appointment)/g, /^[aeiou]/.test(singular) ? 'an ' : 'a ')
      .replaceAll(/(?<=(_?))(grooming|appointments?)(?=([A-Z_]?))/gi, (word, before, _word, after) =>
        formOf(names.get(word.toLowerCase()) ?? word, word, `${before}${after}`),
      );
}

/** Writes a name of words joined by dashes in the form of the word that it replaces. @param near what touches the word */
function formOf(name: string, word: string, near: string): string {
  if (word === word.toUpperCase()) return name.replaceAll('-', '_').toUpperCase();
  if (near.includes('_')) return name.replaceAll('-', '_');
  const camelCase = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  if (/^[A-Z]/.test(word)) return camelCase.replace(/^./, (letter) => letter.toUpperCase());
  return /[A-Z]/.test(near) ? camelCase : name;
}

/** @throws UserError if the store, JavaScript or the template itself has one of the new names already */
export function requireFreeNames(rename: (text: string) => string, template: string, api: string): void {
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
