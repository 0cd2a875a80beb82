import { HttpException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../../api/errors/api-error';
import { fromNestException } from '../../api/errors/common.errors';
import type { Principal } from '../../api/routes/request-context';

/** The principal of a request, or the error that explains why it has none. */
export type Identity =
  | { readonly principal: Principal }
  /** `known` is the principal of a key that cannot be used, for the log. */
  | { readonly rejection: ApiError; readonly known?: Principal | undefined };

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

/** In UTF-16 code units; the index of bans has a row for each key id. */
const MAX_KEY_ID_LENGTH = 255;

/** The authenticator of a team: a client error that it throws is a rejection, too, and its principals are checked. */
export class CheckedAuthenticator extends Authenticator {
  constructor(private readonly own: Authenticator) {
    super();
  }

  override async identify(request: FastifyRequest): Promise<Identity> {
    try {
      const identity = await this.own.identify(request);
      if ('principal' in identity) this.requireUsable(identity.principal);
      return identity;
    } catch (error) {
      const rejection = error instanceof HttpException ? fromNestException(error) : undefined;
      if (!rejection || rejection.getStatus() >= 500) throw error;
      return { rejection };
    }
  }

  /** Requires a key id that PostgreSQL can store, and limits that headers can show. @throws Error */
  private requireUsable({ keyId, limits: { perMinute, perDay } }: Principal): void {
    const isStorable = keyId.length <= MAX_KEY_ID_LENGTH && keyId.isWellFormed() && !keyId.includes('\0');
    if (isStorable && Number.isFinite(perMinute + perDay)) return;
    const rule = `a keyId of at most ${MAX_KEY_ID_LENGTH} well-formed characters without NUL, and finite limits`;
    throw new Error(`${this.own.constructor.name} must return ${rule}.`);
  }
}
