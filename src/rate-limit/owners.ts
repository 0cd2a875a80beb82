import { isIP } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';

/** An address with a port, as some proxies write it: `192.0.2.1:443`, `[2001:db8::1]:443` or `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

export function ownerOfAccount(accountId: bigint): string {
  return `account:${accountId}`;
}

/**
 * Returns the owner of requests without a valid key: the address, or its /64 for IPv6, which belongs to one customer.
 *
 * @param ip from X-Forwarded-For or the socket; if it is not an address, the socket's address counts
 */
export function ownerOfAddress(ip: string | undefined, socketAddress: string | undefined): string {
  return `ip:${normalizeIp(addressIn(ip) ?? addressIn(socketAddress) ?? 'unknown')}`;
}

function addressIn(text = ''): string | undefined {
  if (isIP(text) > 0) return text;
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? '';
  return isIP(address) > 0 ? address : undefined;
}
