import { canonicalNumber } from '../http/int64';

/** Strings, brackets, and what stands between them: numbers and literals. Colons, commas and white space tell nothing. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[^\s"[\]{},:]+/g;

/**
 * Looks for two members of one object with the same name and different values, at any depth. Values are compared as
 * JSON means them: numbers exactly, whatever their spelling, strings by what they spell, objects without order.
 *
 * @param text JSON that a parser has accepted, so that nothing here must be refused
 * @returns the position of the second such member; undefined where there is none
 */
export function findContradiction(text: string): number | undefined {
  return new Comparison(text).run();
}

class Comparison {
  private readonly tokens: RegExpStringIterator<RegExpExecArray>;
  private position: number | undefined;

  constructor(text: string) {
    this.tokens = text.matchAll(TOKEN);
  }

  run(): number | undefined {
    this.canonical(this.next());
    return this.position;
  }

  /** One spelling for all that are the same value. */
  private canonical({ 0: token }: RegExpExecArray): string {
    if (token === '{') return this.object();
    if (token === '[') return this.array();
    if (token.startsWith('"')) return canonicalString(token);
    return /^[-\d]/.test(token) ? canonicalNumber(token) : token;
  }

  private object(): string {
    const members = new Map<string, string>();
    for (let token = this.next(); token[0] !== '}'; token = this.next()) {
      const name = canonicalString(token[0]);
      const value = this.canonical(this.next());
      if ((members.get(name) ?? value) !== value) this.position ??= token.index;
      members.set(name, value);
    }
    const sorted = [...members].map(([name, value]) => `${name}:${value}`).sort();
    return `{${sorted.join()}}`;
  }

  private array(): string {
    const items: string[] = [];
    for (let token = this.next(); token[0] !== ']'; token = this.next()) items.push(this.canonical(token));
    return `[${items.join()}]`;
  }

  private next(): RegExpExecArray {
    const { value } = this.tokens.next();
    if (!value) throw new Error('the text is not what the parser accepted');
    return value;
  }
}

/** Most strings escape nothing and spell themselves. */
function canonicalString(token: string): string {
  return token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token;
}
