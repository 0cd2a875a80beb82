/** A string of JSON, or a character of its structure. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]/gs;

/** Returns the line and column of a character, both from 1. */
export function lineOf(text: string, character: number): string {
  const lines = text.slice(0, character).split(/\r\n|[\r\n]/);
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/**
 * Returns the path to the innermost object or list at the end of a text: names of members and indexes of items.
 *
 * @param text the beginning of JSON, without a mistake
 */
export function pathAtEnd(text: string): string[] {
  /** For each open object or list the current member or item. */
  const open: (string | number)[] = [];
  let name = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const at = open.length - 1;
    const current = open[at];
    if (token === '{') open.push('');
    else if (token === '[') open.push(0);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') open[at] = String(JSON.parse(name));
    else if (token !== ',') name = token;
    else if (typeof current === 'number') open[at] = current + 1;
  }
  return open.slice(0, -1).map(String);
}
