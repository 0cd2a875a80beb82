/** The names of a module, in lower case with dashes, such as `opening-hours`. */
export interface ModuleName {
  readonly plural: string;
  readonly singular: string;
}

/** A module cannot be created with this name. The program prints the message without a stack trace. */
export class NameError extends Error {}

/** The module of the template. Two words, so that each written form of its name is different. */
const TEMPLATE: ModuleName = { plural: 'spare-parts', singular: 'spare-part' };

const WORDS = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const MAX_LENGTH = 40;

/** Plurals whose singular is not the word without its last letter, such as `categories` and `boxes`. */
const IRREGULAR = /(?:ie|[cs]he|[sxzo]e|s|u|i)s$/;

/**
 * Reads the arguments `NAME [SINGULAR]`.
 *
 * @throws NameError
 */
export function parseName([plural, singular, ...others]: readonly string[]): ModuleName {
  if (plural === undefined || others.length > 0) {
    throw new NameError(
      'Give the plural, and the singular if needed: npm run new:module -- categories category',
    );
  }
  for (const name of [plural, singular ?? plural]) {
    if (!WORDS.test(name) || name.length > MAX_LENGTH) {
      throw new NameError(
        `"${name}" is no valid name: give at most ${MAX_LENGTH} lower-case letters, digits and dashes, such as opening-hours.`,
      );
    }
  }
  if (singular === undefined && (!plural.endsWith('s') || IRREGULAR.test(plural))) {
    throw new NameError(`Give the singular of "${plural}", too: npm run new:module -- ${plural} SINGULAR`);
  }
  if (singular === plural)
    throw new NameError('The plural and the singular must differ: choose another name.');
  return { plural, singular: singular ?? plural.slice(0, -1) };
}

/** Returns a function that writes another module's name for that of the template, in every form of code and prose. */
export function renaming(name: ModuleName): (text: string) => string {
  const to = new Map(formsOf(TEMPLATE).map((form, at) => [form, formsOf(name)[at] ?? form]));
  const longestFirst = [...to.keys()].toSorted((one, other) => other.length - one.length);
  const pattern = new RegExp(longestFirst.join('|'), 'g');
  return (text) => text.replace(pattern, (form) => to.get(form) ?? form);
}

/** Returns the name of the class, such as `OpeningHour`. */
export function className(name: string): string {
  return name.replaceAll(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Lists the written forms, always in the same order. */
function formsOf({ plural, singular }: ModuleName): string[] {
  const one = singular.replaceAll('-', ' ');
  const article = /^[aeio]/.test(one) ? 'an' : 'a';
  const articles = [`${article} ${one}`, `${className(article)} ${one}`];
  return [...[plural, singular].flatMap(formsOfWord), ...articles];
}

function formsOfWord(name: string): string[] {
  const pascal = className(name);
  const snake = name.replaceAll('-', '_');
  const camel = pascal.charAt(0).toLowerCase() + pascal.slice(1);
  return [name, pascal, camel, snake, snake.toUpperCase(), name.replaceAll('-', ' ')];
}
