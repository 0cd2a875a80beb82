import { isIP } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';

/** An address that a proxy wrote with a port, as some do: `192.0.2.1:443`, `[2001:db8::1]:443` or `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

export function ownerOfAccount(accountId: bigint): string {
  return `account:${accountId}`;
}

/**
 * The owner of requests without a valid key: their address, of IPv6 the /64, as one customer has at least so many.
 *
 * @param ip what X-Forwarded-For or the socket says; anything that is no address counts as the socket's own
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
