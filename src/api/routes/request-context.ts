import type { BlockList } from 'node:net';
import type { ApiError } from '../errors/api-error';

/** The account and the key of a request. */
export interface Principal {
  readonly accountId: bigint;
  readonly accountName: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly plan: string;
  /** Requests that the account may make in each window. */
  readonly limits: { readonly perMinute: number; readonly perDay: number };
  /** Text of the creator of the key. An authenticator of a team may leave out this and the times; getKey then shows null. */
  readonly label?: string;
  readonly createdAt?: Date;
  /** The time when the key stops working; null for never. */
  readonly expiresAt?: Date | null;
  /** The only addresses of clients that may use the key; undefined: all may. */
  readonly addresses?: BlockList | undefined;
}

/** @internal */
declare module 'node:http' {
  interface IncomingMessage {
    /** The error of a body that violates the HTTP framing or is too slow: its end is unknown, so no request can follow. */
    bodyError?: ApiError;
  }
}

/** The fields that the service adds to a request of Fastify; `rate-limit` adds its own. */
declare module 'fastify' {
  interface FastifyRequest {
    /** The account and the key, if the request has a valid key; `@CurrentPrincipal()`. */
    principal?: Principal;

    /** The error of a missing or invalid key. It is kept until the rate limit has counted the request. @internal */
    keyRejection?: ApiError;

    /** Fields that a module adds to the log line of the request. @internal */
    logFacts?: Readonly<Record<string, unknown>>;

    /** The body as the client sent it, byte for byte; undefined if it is empty. @internal */
    rawBody?: Buffer;

    /** The code of the Error body, if the response has one. @internal */
    errorCode?: string;
  }

  interface FastifyReply {
    /** Returns the URL of a resource by its path, such as `/keys/:id`, and its members. @internal */
    urlOf(path: string, resource: unknown): string;

    /** Returns the `Location` of a 201 (RFC 9110, 10.2.2): the header that the handler has set, or the URL of the resource. @internal */
    locationOf(created: unknown): string | undefined;
  }
}
