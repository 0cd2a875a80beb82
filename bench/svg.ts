import type { Table } from './table';

const CHARACTER_WIDTH = 7.3;
const ROW_HEIGHT = 22;
const PADDING = 14;

/** Draws the table as a self-contained picture with selectable text and its own background. */
export function toSvg({ title, headings, rows }: Table): string {
  const widths = headings.map((_, at) =>
    Math.max(...[headings, ...rows].map((row) => ((row[at] ?? '').length + 2) * CHARACTER_WIDTH)),
  );
  const total = widths.reduce((sum, width) => sum + width, 0);
  const width = Math.ceil(total + 2 * PADDING);
  const height = (rows.length + 2) * ROW_HEIGHT + 2 * PADDING;
  const cells = [headings, ...rows].flatMap((row, line) =>
    row.map((cell, at) => cellAt(cell, at, line, widths)),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="12">`,
    `<title>${escape(title)}</title>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="${PADDING}" y="${PADDING + 12}" font-weight="bold" fill="#111111">${escape(title)}</text>`,
    ...stripes(rows.length, width),
    ...cells,
    '</svg>\n',
  ].join('\n');
}

/** Aligns names to the left and numbers to the right of their column. */
function cellAt(cell: string, at: number, line: number, widths: readonly number[]): string {
  const left = PADDING + widths.slice(0, at).reduce((sum, width) => sum + width, 0);
  const isName = at < 2;
  const x = isName ? left : left + (widths[at] ?? 0) - CHARACTER_WIDTH;
  const y = PADDING + (line + 1) * ROW_HEIGHT + 15;
  const weight = line === 0 ? ' font-weight="bold"' : '';
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${isName ? 'start' : 'end'}"${weight} fill="#111111">${escape(cell)}</text>`;
}

function stripes(rows: number, width: number): string[] {
  return Array.from({ length: rows }, (_, row) => row)
    .filter((row) => row % 2 === 0)
    .map(
      (row) =>
        `<rect x="0" y="${PADDING + (row + 2) * ROW_HEIGHT}" width="${width}" height="${ROW_HEIGHT}" fill="#f2f4f7"/>`,
    );
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
