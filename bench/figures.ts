/** A title, headings and rows of text. The first two columns are names. */
export interface Table {
  readonly title: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Formats the table in Markdown. Each column is as wide as its longest cell. */
export function toMarkdown({ headings, rows }: Table): string {
  const widths = headings.map((heading, at) =>
    Math.max(...[headings, ...rows].map((row) => (row[at] ?? heading).length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, at) => (at < 2 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(headings), rule, ...rows.map(line)].join('\n');
}

/** Returns the lower quartile, the median and the upper quartile. */
export function quartilesOf(values: readonly number[]): [low: number, median: number, high: number] {
  const sorted = values.toSorted((one, other) => one - other);
  return [quantileOf(sorted, 0.25), quantileOf(sorted, 0.5), quantileOf(sorted, 0.75)];
}

export function medianOf(values: readonly number[]): number {
  return quartilesOf(values)[1];
}

/** Returns the value below which this share of the ascending values lies. */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at % 1);
}
