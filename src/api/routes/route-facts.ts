import { applyDecorators, Param, type PipeTransform } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import {
  ApiBearerAuth,
  ApiExtension,
  ApiParam,
  type ApiParamOptions,
  type SchemaObject,
} from '@nestjs/swagger';
import type { FastifyContextConfig } from 'fastify';
import type { DefinedError } from '../errors/api-error';

/** The parameters of a path as they were sent. */
export type PathParams = Readonly<Record<string, string>>;

/** Only decorators set it: guards do not protect a route that a module adds to Fastify itself, and it has no scopes. */
export const SCOPES: unique symbol = Symbol('scopes');

/** @internal */
declare module 'fastify' {
  /** The facts about a route that guards and hooks read. */
  interface FastifyContextConfig {
    /** True if the route needs no key. */
    public?: boolean;
    /** The key needs one of these scopes, or none if `ANY_KEY` is in the list. The start fails without `public` or `scopes`. */
    [SCOPES]?: readonly string[];
    /** True if a request with a valid key is counted in no window. */
    uncounted?: boolean | undefined;
    deprecation?: {
      /** They are the same in every response. */
      readonly headers: Readonly<Record<string, string>>;
      readonly successorOf: (params: PathParams) => string;
    };
    /** The members of the body that are not part of the entity tag of a 200 or 201. Without any, `If-None-Match` gets 304. */
    entityTag?: readonly string[] | undefined;
    /** The path of a created resource, with the members of its response. Default: its `id` below the path of the route. */
    location?: string | undefined;
    /** True for the route of addresses and methods of the API without an operation: `http/route-methods.ts`. */
    unrouted?: boolean;
  }
}

const FACTS = Symbol('route facts');

/** Adds facts to a route's Fastify config. A second `@RouteConfig` would replace the first one. */
export function routeFacts(facts: FastifyContextConfig): MethodDecorator {
  return (target, key, descriptor) => {
    const known: FastifyContextConfig | undefined = Reflect.getMetadata(FACTS, target, key);
    const merged = { ...known, ...facts };
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

/**
 * Declares the scopes of a route once: for `AccessGuard` and for the document. `@Operation` includes it.
 *
 * @param scope several of which the key needs one, or `ANY_KEY`
 */
export function RequireScope(scope: string | readonly string[]): MethodDecorator {
  return applyDecorators(
    routeFacts({ [SCOPES]: [scope].flat() }),
    ApiBearerAuth(),
    // The key needs one of them; an empty list is for every valid key.
    ApiExtension('x-required-scopes', scope === ANY_KEY ? [] : [scope].flat()),
  );
}

const PARAMETERS = Symbol('parameters');

interface ParameterFacts {
  readonly decorators: readonly MethodDecorator[];
  readonly rejects: readonly DefinedError[];
}

const NONE: ParameterFacts = { decorators: [], rejects: [] };

/**
 * Adds facts of a parameter to its handler. Parameter decorators run last to first, before method decorators.
 *
 * @returns the facts of all parameters, for `@Operation`
 */
export function addParameterFacts(target: object, key: string | symbol, added = NONE): ParameterFacts {
  const known: ParameterFacts = Reflect.getOwnMetadata(PARAMETERS, target, key) ?? NONE;
  const decorators = [...added.decorators, ...known.decorators];
  const all = { decorators, rejects: [...added.rejects, ...known.rejects] };
  Reflect.defineMetadata(PARAMETERS, all, target, key);
  return all;
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
    addParameterFacts(target, key, { decorators: [documented], rejects: [notFound] });
  };
}
