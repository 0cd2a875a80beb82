type Cell = string | number | Date | null;

/** The option of each command whose output a program can read. */
export const JSON_OPTION = ['--json', 'print one JSON document'] as const;

/** Prints one JSON document on one line. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

/** Prints a result as one JSON document, or as lines. */
export function printResult(isJson: boolean | undefined, value: unknown, lines: readonly string[]): void {
  if (isJson) printJson(value);
  else printLine(lines.join('\n'));
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints items as one JSON document, or as a table whose columns are as wide as their longest cell. */
export function printList<T>(
  items: readonly T[],
  isJson: boolean | undefined,
  headings: readonly string[],
  cellsOf: (item: T) => readonly Cell[],
): void {
  if (isJson) return printJson(items);
  const rows = [headings, ...items.map((item) => cellsOf(item).map(cellText))];
  const widths = headings.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  for (const row of rows) {
    const cells = row.map((cell, at) => cell.padEnd(widths[at] ?? 0));
    printLine(cells.join('  ').trimEnd());
  }
}

/** Prints a value, a time to the minute; a dash if it is missing. */
export function cellText(value: Cell): string {
  return value instanceof Date ? `${value.toISOString().slice(0, 16)}Z` : String(value ?? '-');
}
