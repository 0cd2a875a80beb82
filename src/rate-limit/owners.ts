import { isIP } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';

/** An address with a port, as some proxies write it: `192.0.2.1:443`, `[2001:db8::1]:443` or `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** Returns the account of the key, or the address of a request without a valid key. */
export function ownerOfRequest({ principal, ip, socket }: FastifyRequest): string {
  return principal ? `account:${principal.accountId}` : ownerOfAddress(ip, socket.remoteAddress);
}

/** Returns the owner of a window of a route: `account:7:route:KennelsController.add:short`. */
export function ownerOfRoute(client: string, place: string, name: string): string {
  return `${client}:route:${place}:${name}`;
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
