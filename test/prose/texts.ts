/** A paragraph of prose, and the line on which it begins. */
export interface Paragraph {
  readonly line: number;
  readonly text: string;
}

/** The prose of a Markdown file: without code, tables' rules, links' targets and HTML. */
export function proseOfMarkdown(markdown: string): Paragraph[] {
  const visible = markdown
    .replace(/^(```|~~~)[\s\S]*?^\1/gm, blank)
    .replace(/<!--[\s\S]*?-->|<[^>\n]+>/g, blank);
  return paragraphs(
    visible.split('\n').map((line) => (/^\s*(?:[-*+]|\d+\.|#+|>|\|)\s?/.test(line) ? `\0${line}` : line)),
  );
}

/** The comments of a TypeScript, JavaScript, Lua or shell file. */
export function proseOfComments(source: string): Paragraph[] {
  const lines = source.split('\n').map((line) => {
    const comment = /^\s*(?:\/\/|\/\*\*?|\*(?!\/)|--|#(?!!))\s?(.*?)(?:\*\/)?$/.exec(line)?.[1] ?? '';
    return /^\s*@(?:param|returns|throws)\b/.test(comment)
      ? `\0${comment.replace(/^\s*@\w+ (?:\w+ ?)?/, '')}`
      : comment;
  });
  return paragraphs(lines);
}

/** The titles of a spec file. */
export function titlesOf(source: string): Paragraph[] {
  const titles = source.matchAll(
    /\b(?:it|describe|itWhen|describeWhen)(?:\.each)?\b[^'"`\n]*\(\s*(['"`])(.*?)\1,/g,
  );
  return [...titles].map((match) => ({
    line: source.slice(0, match.index).split('\n').length,
    text: match[2]!,
  }));
}

/** Joins lines until an empty one, or one that a zero byte marks as a beginning. */
function paragraphs(lines: readonly string[]): Paragraph[] {
  const found: { line: number; text: string }[] = [];
  let open = false;
  for (const [at, line] of lines.entries()) {
    const text = line
      .replace('\0', '')
      .replace(/^[\s>#*+|-]+|^\s*\d+\.\s/, '')
      .trim();
    if (text === '') open = false;
    else if (open && !line.startsWith('\0')) found.at(-1)!.text += ` ${text}`;
    else {
      found.push({ line: at + 1, text });
      open = true;
    }
  }
  return found.map(({ line, text }) => ({ line, text: withoutCode(text) }));
}

function withoutCode(text: string): string {
  return text
    .replace(/`[^`]*`/g, 'CODE')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/https?:\/\/\S+/g, 'URL');
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, '');
}
