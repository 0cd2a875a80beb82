/** The range of int64 (OpenAPI Format Registry). */
export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

/** The digits of the longest int64. Longer texts need no arithmetic. */
const MAX_DIGITS = 19;

const PLAIN_DECIMAL = /^(?:0|-?[1-9][0-9]{0,18})$/;
const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/**
 * Parses an int64 in plain decimal: `0|-?[1-9][0-9]*`.
 *
 * @returns undefined for any other text
 */
export function parseInt64(text: string): bigint | undefined {
  if (!PLAIN_DECIMAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/**
 * Returns the exact value of a JSON number if it is an int64; `1.0` and `1e3` are. It compares digits and exponent
 * without expanding them, so `1e999999999` costs nothing.
 *
 * @returns undefined for a fraction or a number out of range
 */
export function integralValue(number: string): bigint | undefined {
  const decimal = decimalOf(number);
  if (!decimal) return undefined;
  const { sign, significant, exponent, shift } = decimal;
  if (significant === '') return 0n;
  const scale = Number(exponent) + shift;
  if (scale < 0 || significant.length + scale > MAX_DIGITS) return undefined;
  const value = BigInt(`${sign}${significant}${'0'.repeat(scale)}`);
  return isInt64(value) ? value : undefined;
}

/** Splits a JSON number into sign, significant × 10^(exponent + shift). Zero has no significant digits. */
function decimalOf(number: string) {
  const [match, sign = '', whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(number) ?? [];
  if (match === undefined) return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.slice(0, endOfSignificant(digits));
  const shift = digits.length - significant.length - fraction.length;
  return { sign, significant, exponent, shift };
}

/** Returns the index of the trailing zeros. A loop, because `/0+$/` takes quadratic time on zeros before a digit. */
function endOfSignificant(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return end;
}
