import { isIP } from 'node:net';

/** An address with a port, as some proxies write it: `192.0.2.1:443`, `[2001:db8::1]:443` or `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/**
 * Returns the address of a client.
 *
 * @param ip from X-Forwarded-For or the socket; if it is not an address, the socket's address counts
 */
export function clientAddress(ip: string | undefined, socketAddress: string | undefined): string | undefined {
  return addressIn(ip) ?? addressIn(socketAddress);
}

function addressIn(text = ''): string | undefined {
  if (isIP(text) > 0) return text;
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? '';
  return isIP(address) > 0 ? address : undefined;
}
