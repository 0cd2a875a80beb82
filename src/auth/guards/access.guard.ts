import { type BlockList, isIPv6 } from 'node:net';
import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { commonErrors } from '../../api/errors/common.errors';
import { clientAddress } from '../../api/routes/client-address';
import { ANY_KEY, SCOPES } from '../../api/routes/route-facts';
import { insufficientScope } from './auth.errors';
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
    const [request] = context.getArgs<[FastifyRequest]>();
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

/**
 * Throws the 401 or 403 that `BearerGuard` has kept, of a request without a usable key, and the 403 of a key that lacks the
 * scopes of the route. `ThrottleGuard` has counted the request.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  /** @throws ApiError 401 or 403 */
  canActivate(context: ExecutionContext): true {
    const [request] = context.getArgs<[FastifyRequest]>();
    const { keyRejection, principal, routeOptions } = request;
    const { public: isPublic, [SCOPES]: scopes } = routeOptions.config;
    if (isPublic) return true;
    if (keyRejection) throw keyRejection;
    // The start rejects a route without a scope (`app/create-app.ts`).
    if (!scopes || !principal) throw new Error('a request must have a principal, and its route a scope');
    if (scopes.some((scope) => scope === ANY_KEY || principal.scopes.includes(scope))) return true;
    throw insufficientScope(...scopes);
  }
}

/** Requires a further scope of a request with this query parameter, before the query is validated. */
export function RequireScopeFor(parameter: string, scope: string): MethodDecorator {
  return UseGuards({
    canActivate(context: ExecutionContext): true {
      const { query, principal } = context.switchToHttp().getRequest<FastifyRequest>();
      const isGiven = typeof query === 'object' && query !== null && parameter in query;
      if (isGiven && principal?.scopes.includes(scope) !== true) throw insufficientScope(scope);
      return true;
    },
  });
}
