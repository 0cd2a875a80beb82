import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { isProtected } from '../edge/route-checks';
import type { ApiError } from '../errors/api-error';
import { insufficientScope } from './auth.errors';
import { Authenticator, type Identity } from './authenticator';
import type { Principal } from './principal';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose request it is; set by `identify` where a valid key was sent. */
    principal?: Principal;
    /** Why there is no principal; kept until the limit has been charged. */
    keyRefusal?: ApiError;
  }
}

/** Bearer authentication and scopes: three checks of the door, and the same as a guard of Nest. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  /** Finds out whose request it is and refuses nobody: the limit comes before the refusal. */
  identify(request: FastifyRequest): undefined | Promise<undefined> {
    if (!isProtected(request)) return undefined;
    const identity = this.authenticator.identify(request);
    return identity instanceof Promise
      ? identity.then((found) => note(found, request))
      : note(identity, request);
  }

  /** 401 for a protected address without a valid key. */
  requireKey({ keyRefusal }: FastifyRequest): ApiError | undefined {
    return keyRefusal;
  }

  /** 403 unless the key has the scope that the route declares. */
  requireScope(request: FastifyRequest): ApiError | undefined {
    if (!isProtected(request)) return undefined;
    const { scope } = request.routeOptions.config;
    if (scope === undefined) throw new Error('a route without a scope was registered');
    return request.principal?.scopes.includes(scope) ? undefined : insufficientScope(scope);
  }

  /** Nest's face of the same checks; the door has normally run them, and then there is nothing left to do. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return request.admitted || this.admit(request);
  }

  private async admit(request: FastifyRequest): Promise<boolean> {
    await this.identify(request);
    const refusal = this.requireKey(request) ?? this.requireScope(request);
    if (refusal) throw refusal;
    return true;
  }
}

function note(identity: Identity, request: FastifyRequest): undefined {
  if ('refusal' in identity) {
    request.keyRefusal = identity.refusal;
    return;
  }
  const { principal } = identity;
  request.principal = principal;
  request.logFacts = { account: principal.accountName, key: principal.keyId };
}
