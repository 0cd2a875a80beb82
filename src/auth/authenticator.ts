import { createHash } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../platform/errors/api-error';
import { fromNestException } from '../platform/errors/nest-exception';
import { BEARER_CHALLENGE } from '../platform/errors/platform.errors';
import type { Principal } from '../platform/routes/request-context';

/** The principal of a request, or the error that explains why it has none. */
export type Identity = { readonly principal: Principal } | { readonly rejection: ApiError };

/**
 * Identifies the sender of a request, before its body is read.
 *
 * The rate limit counts a rejected request for its client IP. Return the rejection, or throw a client error; any other
 * exception is a 500, or a 503 if the database is unavailable.
 */
export abstract class Authenticator {
  abstract identify(request: FastifyRequest): Identity | Promise<Identity>;
}

/** Injection token of an `Authenticator` that replaces `KeyAuthenticator`. A `@Global()` module provides and exports it. */
export const OWN_AUTHENTICATOR = Symbol('OWN_AUTHENTICATOR');

/** The result of `identify` in a program without types. */
interface Untrusted {
  readonly principal?: Principal;
  readonly rejection?: unknown;
}

/** A longer text does not fit into the index of the stored bans. */
const MAX_KEY_ID_LENGTH = 255;

const IS_VALID: Readonly<Record<string, (principal: Partial<Principal>) => boolean>> = {
  accountId: ({ accountId }) => typeof accountId === 'bigint',
  accountName: ({ accountName }) => typeof accountName === 'string',
  keyId: ({ keyId }) => typeof keyId === 'string',
  plan: ({ plan }) => typeof plan === 'string',
  scopes: ({ scopes }) => Array.isArray(scopes),
  limits: ({ limits }) => isCount(limits?.perMinute) && isCount(limits?.perDay),
  unbannedAt: ({ unbannedAt }) => isCount(unbannedAt),
  label: ({ label }) => label === undefined || typeof label === 'string',
  createdAt: ({ createdAt }) => createdAt === undefined || isTime(createdAt),
  expiresAt: ({ expiresAt }) => expiresAt === undefined || expiresAt === null || isTime(expiresAt),
};

/** Checks the identities of a team's authenticator: an invalid principal would break the counters of all accounts. */
export class CheckedAuthenticator extends Authenticator {
  constructor(private readonly own: Authenticator) {
    super();
  }

  override async identify(request: FastifyRequest): Promise<Identity> {
    const { principal, rejection }: Untrusted = (await this.identityOf(request)) ?? {};
    if (rejection instanceof ApiError) return { rejection: withChallenge(rejection) };
    if (!principal) throw new Error('identify() must return a principal, or an ApiError as the rejection.');
    const invalid = Object.keys(IS_VALID).filter((field) => !IS_VALID[field]?.(principal));
    if (invalid.length > 0)
      throw new Error(`The principal of identify() has an invalid ${invalid.join(', ')}.`);
    return { principal: withStorableKey(principal) };
  }

  /** A client error that the authenticator throws, such as UnauthorizedException, is a rejection, too. */
  private async identityOf(request: FastifyRequest): Promise<Untrusted | undefined> {
    try {
      return await this.own.identify(request);
    } catch (error) {
      const rejection = error instanceof HttpException ? fromNestException(error) : error;
      if (rejection instanceof ApiError && rejection.status < 500) return { rejection };
      throw error;
    }
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isTime(value: unknown): boolean {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

/** A 401 has a challenge (RFC 9110, section 15.5.2). */
function withChallenge(rejection: ApiError): ApiError {
  const { status, message, headers } = rejection;
  const hasChallenge = Object.keys(headers).some((name) => name.toLowerCase() === 'www-authenticate');
  if (status !== 401 || hasChallenge) return rejection;
  return new ApiError(rejection, { message, headers: { ...headers, 'WWW-Authenticate': BEARER_CHALLENGE } });
}

/** Replaces a key id that PostgreSQL or Redis cannot store by its hash. */
function withStorableKey(principal: Principal): Principal {
  const { keyId } = principal;
  const isStorable = keyId.length <= MAX_KEY_ID_LENGTH && keyId.isWellFormed() && !keyId.includes('\0');
  if (isStorable) return principal;
  // JSON keeps lone surrogates apart, which UTF-8 does not.
  const hash = createHash('sha256').update(JSON.stringify(keyId)).digest('hex');
  return { ...principal, keyId: `sha256:${hash}` };
}
