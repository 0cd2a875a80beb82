import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../platform/errors/api-error';
import type { Principal } from '../platform/http/request-context';

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
