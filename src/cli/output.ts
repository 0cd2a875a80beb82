/** Prints one JSON document on one line. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints headings and rows in columns that are as wide as their longest cell. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => (row[at] ?? '').length)),
  );
  for (const row of [headings, ...rows]) {
    printLine(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Formats a time to the minute; a dash if it is missing. */
export function minuteOf(time: Date | null): string {
  return time ? `${time.toISOString().slice(0, 16)}Z` : '-';
}
