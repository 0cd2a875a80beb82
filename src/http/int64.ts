/** The range of int64 (OpenAPI Format Registry). */
export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

/** Digits of the longest int64, so that longer texts need no arithmetic. */
const MOST_DIGITS = 19;

const PLAIN_DECIMAL = /^(?:0|-?[1-9][0-9]{0,18})$/;
const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/** An int64 in plain decimal, without sign, leading zeros or spaces that it does not need; else undefined. */
export function parseInt64(text: string): bigint | undefined {
  if (!PLAIN_DECIMAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/**
 * The exact value of a JSON number that is integral and within int64 (`1.0` and `1e3` are), else undefined.
 * Digits and exponent are compared, never expanded: `1e999999999` costs nothing.
 */
export function integralValue(number: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.slice(0, endOfSignificant(digits));
  if (significant === '') return whole === '' ? undefined : 0n;
  // number = significant × 10^scale
  const scale = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (scale < 0 || significant.length + scale > MOST_DIGITS) return undefined;
  const value = BigInt(`${sign}${significant}${'0'.repeat(scale)}`);
  return isInt64(value) ? value : undefined;
}

/** Where the trailing zeros begin; a loop, because `/0+$/` takes quadratic time on many zeros before a digit. */
function endOfSignificant(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return end;
}
