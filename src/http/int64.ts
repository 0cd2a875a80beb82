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
  const decimal = decimalOf(number);
  if (!decimal) return undefined;
  const { sign, significant, exponent, shift } = decimal;
  if (significant === '') return 0n;
  const scale = Number(exponent) + shift;
  if (scale < 0 || significant.length + scale > MOST_DIGITS) return undefined;
  const value = BigInt(`${sign}${significant}${'0'.repeat(scale)}`);
  return isInt64(value) ? value : undefined;
}

/** One spelling for all JSON numbers of one value, exactly: `1.50` and `0.15e1` are `15e-1`, `-0` is `0`. */
export function canonicalNumber(number: string): string {
  const { sign = '', significant = '', exponent = '0', shift = 0 } = decimalOf(number) ?? {};
  return significant === '' ? '0' : `${sign}${significant}e${BigInt(exponent) + BigInt(shift)}`;
}

/** A JSON number in parts: it is sign, significant × 10^(exponent + shift); zero has no significant digits. */
function decimalOf(number: string) {
  const [match, sign = '', whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(number) ?? [];
  if (match === undefined) return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.slice(0, endOfSignificant(digits));
  const shift = digits.length - significant.length - fraction.length;
  return { sign, significant, exponent, shift };
}

/** Where the trailing zeros begin; a loop, because `/0+$/` takes quadratic time on many zeros before a digit. */
function endOfSignificant(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return end;
}
