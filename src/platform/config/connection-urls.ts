import { type Parser, urlOf } from './parsers';

/**
 * Accepts the URL of a server with a user name and password. A character in them that ends the host part would make the
 * rest of the password the name of the server. Messages do not repeat the value.
 */
function connectionUrlOf(...schemes: readonly string[]): Parser<string> {
  const parse = urlOf(...schemes);
  return (value) => {
    if (hasUnencodedCredentials(value)) {
      throw new Error(
        'has a reserved character in its user name or password: write % as %25, @ as %40, / as %2F, ? as %3F, # as %23, a space as %20',
      );
    }
    if (!isDecodable(value)) throw new Error('has a % that begins no character of UTF-8: write % as %25');
    return parse(value);
  };
}

/**
 * True if an `@` stands behind the host part (RFC 3986, 3.2) outside of a parameter, or if a `%` or a space is not
 * encoded. With a space, node-postgres would encode other characters twice.
 */
function hasUnencodedCredentials(url: string): boolean {
  const [, authority = '', rest = ''] = /^\w+:\/\/([^/?#]*)(.*)$/.exec(url) ?? [];
  const [userInfo = ''] = authority.split(/@(?=[^@]*$)/);
  if (/\s/.test(userInfo) || !isDecodable(userInfo)) return true;
  if (authority === '' || !rest.includes('@')) return false;
  return !URL.canParse(url) || rest.replace(/\?\w+=[^?#]*$/, '').includes('@');
}

/** True if all percent-encoded octets are UTF-8. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

export const databaseUrl = connectionUrlOf('postgres', 'postgresql');

/** Accepts one URL or a comma-separated list. A comma inside a URL, such as in its password, does not end it. */
function urlsOf(...schemes: readonly string[]): Parser<readonly string[]> {
  return (value) => value.split(/\s*,\s*(?=\w+:\/\/)/).map(connectionUrlOf(...schemes));
}

/**
 * Accepts URLs of Redis. The client would read any other query parameter than `sentinel` as an option. A database
 * that is not a number would end the process when the client selects it.
 */
export const redisUrls: Parser<readonly string[]> = (value) => {
  const urls = urlsOf('redis', 'rediss')(value);
  const [first] = urls.map((url) => new URL(url).search);
  for (const url of urls) {
    const { pathname, search } = new URL(url);
    if (!/^(\/|\/[0-9]{1,9})?$/.test(pathname)) {
      throw new Error('must have a database number such as /1 as its path, or no path');
    }
    if (search !== '' && (search !== first || !/^\?sentinel=[^&]+$/.test(search))) {
      throw new Error('may have only the query ?sentinel=NAME, on the first URL or the same on every URL');
    }
    if (urls.length > 1 && first === '' && !/^\/?0*$/.test(pathname)) {
      throw new Error('must name database 0 or none for the nodes of a cluster, which has no other');
    }
  }
  return urls;
};
