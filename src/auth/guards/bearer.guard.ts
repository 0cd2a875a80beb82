import { type BlockList, isIPv6 } from 'node:net';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { commonErrors } from '../../api/errors/common.errors';
import { clientAddress } from '../../api/routes/client-address';
import { Authenticator, type Identity } from './authenticator';

/**
 * Identifies the sender of a request: sets `principal`, or `keyRejection` if it has no valid key. It rejects no request,
 * because `ThrottleGuard` counts those without a valid key, too; `AccessGuard` rejects them.
 */
@Injectable()
export class BearerGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  /** Decides synchronously if the key is cached or malformed. */
  canActivate(context: ExecutionContext): true | Promise<true> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.routeOptions.config.public) return true;
    const identity = this.authenticator.identify(request);
    return identity instanceof Promise
      ? identity.then((found) => setIdentity(request, found))
      : setIdentity(request, identity);
  }
}

function setIdentity(request: FastifyRequest, identity: Identity): true {
  const owner = 'rejection' in identity ? identity.known : identity.principal;
  if (owner) request.logFacts = { account: owner.accountName, key: owner.keyId };
  if ('rejection' in identity) request.keyRejection = identity.rejection;
  // Counted for the address: a thief of a key cannot use up the requests of its owner.
  else if (!isAllowedAddress(identity.principal.addresses, request.ip))
    request.keyRejection = commonErrors.address_not_allowed();
  else request.principal = identity.principal;
  return true;
}

/** True if a key with these addresses may be used from a client's. */
function isAllowedAddress(addresses: BlockList | undefined, ip: string): boolean {
  if (!addresses) return true;
  // If the proxy does not know the address, the limits count its own, which must not open the key.
  const address = clientAddress(ip);
  // The list finds an IPv4 address also in its IPv6 form.
  return address !== undefined && addresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
