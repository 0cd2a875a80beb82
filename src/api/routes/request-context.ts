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

/** A window as the headers show it. */
export interface Usage {
  readonly limit: number;
  /** Requests left, after this one. */
  readonly remaining: number;
  /** The end in milliseconds since the epoch. A window that has not begun ends as if it began now. */
  readonly resetAt: number;
}

export interface Windows {
  readonly minute: Usage;
  /** Undefined if the owner has no daily limit. */
  readonly day: Usage | undefined;
}

/** The windows of an account or an address, as they stand at one time. */
export interface WindowsAtTime {
  readonly windows: Windows;
  /** The time, in milliseconds since the epoch. */
  readonly now: number;
  /** The end of the ban in milliseconds since the epoch; undefined if the key is not banned. */
  readonly bannedUntil?: number;
}

export interface RateLimitDecision extends WindowsAtTime {
  readonly verdict: 'admitted' | 'limited' | 'banned';
  /** True if this request began a ban of its key. */
  readonly beganBan?: true;
}

/** The windows of an account and the strikes of a key. */
export interface Standing extends WindowsAtTime {
  /** The strikes that this instance gave the key and that still count. A ban resets them. */
  readonly strikes: number;
}

/** Marks a request of this process to itself, a part of a request that was counted. */
export const COUNTED = Symbol('counted');

/** @internal */
declare module 'node:http' {
  interface IncomingMessage {
    [COUNTED]?: true;

    /** The error of a body that violates the HTTP framing or is too slow: its end is unknown, so no request can follow. */
    bodyError?: ApiError;
  }
}

/** Every field that the service adds to a request of Fastify, in the order in which a request gets them. */
declare module 'fastify' {
  interface FastifyRequest {
    /** The account and the key, if the request has a valid key; `@CurrentPrincipal()`. */
    principal?: Principal;

    /** The error of a missing or invalid key. It is kept until the rate limit has counted the request. @internal */
    keyRejection?: ApiError;

    /** Fields that a module adds to the log line of the request. @internal */
    logFacts?: Readonly<Record<string, unknown>>;

    /** The decision of the rate limit; undefined if the request is not counted. @internal */
    rateLimit?: RateLimitDecision;

    /** The windows of the account and the strikes of the key, on a route that counts no requests. @internal */
    standing?: Standing;

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
