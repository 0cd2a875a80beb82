/** A title, and rows by heading. */
export interface Table {
  readonly title: string;
  readonly rows: readonly Readonly<Record<string, string | number>>[];
}

/** Rounds for a table. */
export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));

/** Returns the lower quartile, the median and the upper quartile. */
export function quartilesOf(values: readonly number[]): [low: number, median: number, high: number] {
  const sorted = values.toSorted((one, other) => one - other);
  return [quantileOf(sorted, 0.25), quantileOf(sorted, 0.5), quantileOf(sorted, 0.75)];
}

export const median = (values: readonly number[]): number => quartilesOf(values)[1];

/** Returns the value below which this share of the ascending values lies. */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at % 1);
}
