import { type Parser, urlOf } from './parsers';

/** White space, or an `@` behind the host: a password that is not encoded. Its rest would be the name of the server. */
const UNENCODED = /\s|^\w+:\/\/[^/?#]*[/?#].*@/;

/** A database number or none, and the name of the sentinels' primary. The client reads other parameters as options. */
const REDIS_URL = /^\w+:\/\/[^/?#]*(\/\d{0,9})?(\?sentinel=[^&#]+)?$/;

/** Accepts the URL of a server with a user name and password. Messages do not repeat the value. */
function serverUrlOf(...schemes: readonly string[]): Parser<string> {
  const parse = urlOf(...schemes);
  return (value) => {
    if (UNENCODED.test(value) || !isDecodable(value)) {
      throw new Error(
        'has a reserved character in its user name or password: write % as %25, @ as %40, / as %2F, ? as %3F, # as %23, a space as %20',
      );
    }
    return parse(value);
  };
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

export const databaseUrl = serverUrlOf('postgres', 'postgresql');

const redisUrl = serverUrlOf('redis', 'rediss');

/** Accepts one URL or a comma-separated list. A comma inside a URL, such as in its password, does not end it. */
export const redisUrls: Parser<readonly string[]> = (value) =>
  value.split(/\s*,\s*(?=\w+:\/\/)/).map((each) => {
    if (REDIS_URL.test(redisUrl(each))) return each;
    throw new Error('may have a database number such as /1 as its path, and the query ?sentinel=NAME');
  });
