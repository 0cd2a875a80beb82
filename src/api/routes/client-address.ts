import { isIP } from 'node:net';

/** An address with a port, as some proxies write it: `192.0.2.1:443`, `[2001:db8::1]:443` or `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** Returns the address of a client; undefined for another text. @param text from X-Forwarded-For or the socket */
export function clientAddress(text = ''): string | undefined {
  if (isIP(text) > 0) return text;
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? '';
  return isIP(address) > 0 ? address : undefined;
}
