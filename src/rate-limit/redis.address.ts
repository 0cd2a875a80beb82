export const REDIS_PORT = 6_379;
export const SENTINEL_PORT = 26_379;

/** The user and password of a URL. */
export interface Access {
  readonly username?: string;
  readonly password?: string;
}

/** The host and port of a URL. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export function addressOf({ hostname, port }: URL, defaultPort: number): Address {
  // A URL writes an IPv6 address in brackets, a socket takes it without.
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || defaultPort) };
}

export function accessOf({ username, password }: URL): Access {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}
