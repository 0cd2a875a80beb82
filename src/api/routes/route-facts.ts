import { applyDecorators, Param, type PipeTransform } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import {
  ApiBearerAuth,
  ApiExtension,
  ApiParam,
  type ApiParamOptions,
  type SchemaObject,
} from '@nestjs/swagger';
import type { FastifyContextConfig, RouteOptions } from 'fastify';
import { UserError } from '../../config/user-error';
import type { DefinedError } from '../errors/api-error';

export interface Deprecation {
  /** RFC 9745. */
  readonly since: Date;
  /** When the operation will be removed (RFC 8594). */
  readonly sunset: Date;
  /** Returns the successor of a request, relative to the base URL: `/pets?id=1`. */
  readonly successorOf: (params: PathParams) => string;
}

/** The parameters of a path as they were sent. */
export type PathParams = Readonly<Record<string, string>>;

/** Only `routeFacts` sets it, so a route that a module adds to Fastify itself lacks it. */
export const GUARDED: unique symbol = Symbol('protected by the guards');

/** @internal */
declare module 'fastify' {
  /** The facts about a route that guards and hooks read. */
  interface FastifyContextConfig {
    /** True if the route needs no key. */
    public?: boolean;
    /** The key needs one of these scopes. The start fails if a route has neither `public`, `scopes` nor `anyKey`. */
    scopes?: readonly string[];
    anyKey?: boolean;
    /** True if a request with a valid key is counted in no window. */
    uncounted?: boolean | undefined;
    /** The deprecation, with the headers that are the same in every response. */
    deprecation?: Deprecation & { readonly headers: Readonly<Record<string, string>> };
    /** The members of the body that are not part of the entity tag of a 200 or 201. Without any, `If-None-Match` gets 304. */
    entityTag?: readonly string[] | undefined;
    /** The path of a created resource, with the members of its response. Default: its `id` below the path of the route. */
    location?: string | undefined;
    /** True for the route of addresses and methods of the API without an operation: `http/route-methods.ts`. */
    unrouted?: boolean;
    /** True for a method of a controller, which the guards protect. */
    [GUARDED]?: true;
  }
}

const FACTS = Symbol('route facts');

/** Adds facts to a route's Fastify config. A second `@RouteConfig` would replace the first one. */
export function routeFacts(facts: FastifyContextConfig): MethodDecorator {
  return (target, key, descriptor) => {
    const known: FastifyContextConfig | undefined = Reflect.getMetadata(FACTS, target, key);
    const merged = { ...known, ...facts, [GUARDED]: true } as const;
    Reflect.defineMetadata(FACTS, merged, target, key);
    RouteConfig(merged)(target, key, descriptor);
  };
}

/** Declares a public route: it requires no key and has no rate limit. */
export function Public(): MethodDecorator {
  return routeFacts({ public: true });
}

/** The `scope` of an operation that every valid key may use. No scope has a space. */
export const ANY_KEY = 'any key';

/** A scope that the key needs, several of which it needs one, or `ANY_KEY`. */
export type RequiredScope = string | readonly string[];

/** Declares the scopes of a route once: for `ScopeGuard` and for the document. */
export function declareScope(scope: RequiredScope): MethodDecorator {
  const scopes = scopesOf(scope);
  return applyDecorators(
    routeFacts(scope === ANY_KEY ? { anyKey: true } : { scopes }),
    ApiBearerAuth(),
    // The key needs one of them; an empty list is for every valid key.
    ApiExtension('x-required-scopes', scopes),
  );
}

function scopesOf(scope: RequiredScope): readonly string[] {
  return scope === ANY_KEY ? [] : [scope].flat();
}

/** Returns the sentence that ends the description of an operation. */
export function scopeSentence(scope: RequiredScope): string {
  if (scope === ANY_KEY) return 'Every valid key may use it, without a scope.';
  const scopes = scopesOf(scope).map((each) => `\`${each}\``);
  return `The key needs the scope ${scopes.join(' or ')}.`;
}

/**
 * Requires that a route is public, is for every key, or declares a scope. '*' is the route of @fastify/cors.
 *
 * @param declared the scopes of the extensions
 * @throws UserError
 */
export function requireDeclaration(
  { method, url, config = {} }: RouteOptions,
  declared: readonly string[],
): void {
  const { scopes = [], anyKey } = config;
  if (config.public || url === '*') return;
  // An empty list is a mistake: in the document it would be for every key. JavaScript may leave the scope out.
  if (!scopes[0] && !anyKey) {
    throw new UserError(
      `${String(method)} ${url} declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.`,
    );
  }
  if (!config[GUARDED]) {
    throw new UserError(
      `No guard protects ${String(method)} ${url}: make its handler a method of a controller.`,
    );
  }
  const unknown = scopes.find((scope) => !declared.includes(scope));
  if (unknown !== undefined) {
    throw new UserError(
      `${String(method)} ${url} requires the scope ${unknown}, which no extension declares: use one of ${declared.join(', ')}.`,
    );
  }
}

/** The facts that the parameters of a handler add to its `@Operation`. */
interface ParameterFacts {
  readonly rejects: readonly DefinedError[];
  readonly decorators: readonly MethodDecorator[];
}

const PARAMETERS = Symbol('parameters');

/** Adds facts to a handler. Parameter decorators run last to first, before method decorators. */
export function addParameterFacts(
  target: object,
  key: string | symbol,
  decorator: MethodDecorator,
  ...errors: readonly DefinedError[]
): void {
  const { rejects, decorators } = parameterFactsOf(target, key);
  const facts = { rejects: [...errors, ...rejects], decorators: [decorator, ...decorators] };
  Reflect.defineMetadata(PARAMETERS, facts, target, key);
}

export function parameterFactsOf(target: object, key: string | symbol): ParameterFacts {
  return Reflect.getOwnMetadata(PARAMETERS, target, key) ?? { rejects: [], decorators: [] };
}

/**
 * Declares a parameter of the path.
 *
 * @param transform throws `notFound` for a text that names nothing
 * @param notFound the error of an unknown id; the document lists it
 */
export function PathParam(
  { schema, ...options }: ApiParamOptions & { readonly name: string; readonly schema: SchemaObject },
  transform: PipeTransform<string>['transform'],
  notFound: DefinedError,
): ParameterDecorator {
  return (target, key = '', index) => {
    Param(options.name, { transform })(target, key, index);
    // Nest drops an example next to a schema.
    const documented = ApiParam({ ...options, schema: { ...schema, example: options.example } });
    addParameterFacts(target, key, documented, notFound);
  };
}
