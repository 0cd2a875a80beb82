import { isIP } from 'node:net';

/** Turns the text of a setting into its value, or throws an Error whose message continues "NAME …". */
export type Parser<T> = (text: string) => T;

/** Text that is taken as it stands. */
export const text: Parser<string> = (value) => value;

/** `parse`, or undefined for an empty setting. */
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

/** A URL of one of the schemes. The value is not repeated in the message: it may hold a password. */
export function urlOf(...schemes: readonly string[]): Parser<string> {
  return (value) => {
    if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol.slice(0, -1))) {
      throw new Error(`must be a URL that begins with ${schemes.map((each) => `${each}://`).join(' or ')}`);
    }
    return value;
  };
}

/** One URL or a comma list of them; a comma inside a URL, as its password may have, does not end it. */
function urlsOf(...schemes: readonly string[]): Parser<readonly string[]> {
  return (value) => value.split(/\s*,\s*(?=\w+:\/\/)/).map(urlOf(...schemes));
}

/**
 * URLs of Redis. In a query nothing may stand but the name for sentinels: the client would take it for an option of its
 * own. A database that is no number would end the process when the client selects it.
 */
export const redisUrls: Parser<readonly string[]> = (value) => {
  const urls = urlsOf('redis', 'rediss')(value);
  const [first] = urls.map((url) => new URL(url).search);
  for (const url of urls) {
    const { pathname, search } = new URL(url);
    if (!/^(\/|\/[0-9]{1,9})?$/.test(pathname)) {
      throw new Error('must have as its path the number of a database, such as /1, or none');
    }
    if (search !== '' && (search !== first || !/^\?sentinel=[^&]+$/.test(search))) {
      throw new Error('must have no query but ?sentinel=NAME, at its first URL or the same at each');
    }
    if (urls.length > 1 && first === '' && !/^\/?0*$/.test(pathname)) {
      throw new Error('must name no database but 0 at the nodes of a cluster, which has no other');
    }
  }
  return urls;
};

/** An http(s) URL, or a path from the root; without query, fragment or slash at its end. */
export const baseUrl: Parser<string> = (value) => {
  const isPath = /^\/(?!\/)/.test(value);
  const parsed = URL.canParse(value, 'http://localhost') ? new URL(value, 'http://localhost') : undefined;
  const isHttp = parsed !== undefined && /^https?:\/\//i.test(value);
  const isPlain = /^[\w\-.~:/@!$&'()*+,;=%[\]]*$/.test(value);
  if (parsed === undefined || !isPlain || !(isPath || isHttp)) {
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

/** IP addresses and CIDR blocks. A bare number ("trust n hops") is refused: hops can be forged. */
export const cidrs: Parser<readonly string[]> = list((value) => {
  const [address = '', bits, ...rest] = value.split('/');
  const family = isIP(address);
  const widest = family === 6 ? 128 : 32;
  // A block of no bits would be everybody: then anyone could choose an address.
  const isBlock = bits === undefined || (/^[1-9][0-9]{0,2}$/.test(bits) && Number(bits) <= widest);
  if (family === 0 || address.includes('%') || !isBlock || rest.length > 0) {
    throw new Error(`must be a comma list of CIDR blocks such as 10.0.0.0/8, not "${value}"`);
  }
  return value;
});

/** Origins in the form that browsers send them: scheme, host and port only (RFC 6454). */
export const origins: Parser<readonly string[]> = list((value) => {
  if (!URL.canParse(value) || new URL(value).origin !== value) {
    throw new Error(`must be a comma list of origins such as https://example.com, not "${value}"`);
  }
  return value;
});
