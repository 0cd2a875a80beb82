import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { isProtected } from '../platform/http/protection';
import type { ApiError } from '../platform/errors/api-error';
import { insufficientScope } from './auth.errors';
import { Authenticator, type Identity } from './authenticator';

/** The request checks of bearer authentication and scopes. `app/create-app.ts` defines their order. */
@Injectable()
export class AuthChecks {
  constructor(private readonly authenticator: Authenticator) {}

  /** Sets `principal` or `keyRejection`. It rejects no request, because the rate limit is checked first. */
  identify(request: FastifyRequest): undefined | Promise<undefined> {
    if (!isProtected(request)) return undefined;
    const identity = this.authenticator.identify(request);
    return identity instanceof Promise
      ? identity.then((found) => setIdentity(request, found))
      : setIdentity(request, identity);
  }

  /** Returns 401 for a protected path without a valid key. */
  requireKey({ keyRejection }: FastifyRequest): ApiError | undefined {
    return keyRejection;
  }

  /** Returns 403 unless the key has one of the scopes that the route declares, or the route is for every key. */
  requireScope(request: FastifyRequest): ApiError | undefined {
    if (!isProtected(request)) return undefined;
    const { scopes, anyKey } = request.routeOptions.config;
    if (!scopes && anyKey) return undefined;
    if (!scopes) throw new Error('a route without a scope was registered');
    const held = request.principal?.scopes ?? [];
    return scopes.some((scope) => held.includes(scope)) ? undefined : insufficientScope(...scopes);
  }
}

function setIdentity(request: FastifyRequest, identity: Identity): undefined {
  if ('rejection' in identity) {
    request.keyRejection = identity.rejection;
    return;
  }
  const { principal } = identity;
  request.principal = principal;
  request.logFacts = { account: principal.accountName, key: principal.keyId };
}
