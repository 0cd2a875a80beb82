import { isIP } from 'node:net';

/** Parses the text of a setting, or throws an Error with a message that continues "NAME …". */
export type Parser<T> = (text: string) => T;

export const text: Parser<string> = (value) => value;

/** Returns undefined for an empty text, else the result of `parse`. */
export function optional<T>(parse: Parser<T>): Parser<T | undefined> {
  return (value) => (value === '' ? undefined : parse(value));
}

export function oneOf<const T extends string>(...values: readonly T[]): Parser<T> {
  return (value) => {
    const found = values.find((each) => each === value);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}, not "${value}"`);
    return found;
  };
}

export function integer(min: number, max: number): Parser<number> {
  return (value) => {
    const number = /^(0|[1-9][0-9]*)$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) {
      throw new Error(`must be a whole number from ${min} to ${max}, not "${value}"`);
    }
    return number;
  };
}

export const boolean: Parser<boolean> = (value) => oneOf('true', 'false')(value) === 'true';

/** Accepts an http(s) URL or a path that begins with a slash, without query and fragment; removes slashes at the end. */
export const baseUrl: Parser<string> = (value) => {
  const isPlain = /^(https?:\/\/|\/(?!\/))[\w\-.~:/@!$&'()*+,;=%[\]]+$/i.test(value);
  if (!isPlain || !URL.canParse(value, 'http://localhost')) {
    throw new Error(`must be an http or https URL, or a path that begins with one slash, not "${value}"`);
  }
  return value.replace(/\/+$/, '');
};

function list<T>(parse: Parser<T>): Parser<readonly T[]> {
  return (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map(parse);
}

/** True for an IP address or a CIDR block. A block of 0 bits, which contains every address, is a mistake everywhere. */
export function isCidr(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/');
  const family = isIP(address);
  const widest = family === 6 ? 128 : 32;
  const isBlock = bits === undefined || (/^[1-9][0-9]{0,2}$/.test(bits) && Number(bits) <= widest);
  return family !== 0 && !address.includes('%') && isBlock && rest.length === 0;
}

/** Accepts IP addresses and CIDR blocks. A bare number ("trust n hops") is invalid, because clients can forge hops. */
export const cidrs: Parser<readonly string[]> = list((value) => {
  if (isCidr(value)) return value;
  throw new Error(`must be a comma-separated list of CIDR blocks such as 10.0.0.0/8, not "${value}"`);
});

/** Accepts origins as browsers send them: scheme, host and port only (RFC 6454). */
export const origins: Parser<readonly string[]> = list((value) => {
  if (!URL.canParse(value) || new URL(value).origin !== value) {
    throw new Error(`must be a comma-separated list of origins such as https://example.com, not "${value}"`);
  }
  return value;
});

/** False for a percent sign without two digits, or with those of no UTF-8. A text without one is decodable. */
export function isDecodable(value: string): boolean {
  try {
    decodeURIComponent(value);
    return true;
  } catch {
    return false;
  }
}
