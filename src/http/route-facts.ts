import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyContextConfig } from 'fastify';

declare module 'fastify' {
  /** What the door must know of a route before its handler runs. */
  interface FastifyContextConfig {
    /** Anyone may call it, without a key. */
    public?: boolean;
    /** The scope that a key needs. A route needs `public` or `scope`, or the start ends. */
    scope?: string;
    /** What the responses of a deprecated operation say of it. */
    deprecation?: Deprecation;
    /** It heeds an Idempotency-Key. */
    idempotent?: boolean;
    /** On the route that answers the methods a URL does not have: those that it has. */
    allow?: string;
  }
}

/** When an operation was deprecated, when it goes, and what to use instead. */
export interface Deprecation {
  /** RFC 9745. */
  readonly since: Date;
  /** RFC 8594. */
  readonly sunset: Date;
  /** The successor, relative to the base URL: `/pets?status=available`. */
  readonly successor: string;
}

const FACTS = Symbol('route facts');

/** Adds facts to a route's Fastify config; a second `@RouteConfig` would replace those already there. */
export function routeFacts(facts: FastifyContextConfig): MethodDecorator {
  return (target, key, descriptor) => {
    const known: FastifyContextConfig | undefined = Reflect.getMetadata(FACTS, target, key);
    const merged = { ...known, ...facts };
    Reflect.defineMetadata(FACTS, merged, target, key);
    RouteConfig(merged)(target, key, descriptor);
  };
}
