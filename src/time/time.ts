export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** How far the clocks of instances may differ. */
export const MAX_CLOCK_DIFFERENCE_MS = 10 * SECOND_MS;

/** Returns the UTC date of a time, such as `2026-11-21`. */
export function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

const MS_PER_UNIT: Readonly<Record<string, number>> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Returns the milliseconds of a time such as `24h` or `0`; NaN for other texts and longer times. */
export function durationMs(text: string, maxMs = Infinity): number {
  const [, digits, unit = ''] = /^(0|[1-9][0-9]{0,6})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  const ms = Number(digits) * (MS_PER_UNIT[unit] ?? Number.NaN);
  return ms <= maxMs ? ms : Number.NaN;
}
