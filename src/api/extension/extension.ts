import { type DynamicModule, Module, type ModuleMetadata, SetMetadata, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiTags } from '@nestjs/swagger';
import type { RouteOptions } from 'fastify';
import type { MigrationInterface } from 'typeorm';
import type { Config, Settings } from '../../config/config';
import { UserError } from '../../config/user-error';
import type { DefinedError } from '../errors/api-error';
import { ANY_KEY, SCOPES } from '../routes/route-facts';

/** The scope of administration. No key has it unless its creator names it. */
export const ADMIN_SCOPE = 'admin';

type DefinedScope = `${string}:${string}` | typeof ADMIN_SCOPE;

/**
 * Defines the scopes of an extension: `defineScopes('pets', 'read', 'write')` is `{ read: 'pets:read', write: 'pets:write' }`.
 *
 * @param name the name of the extension
 */
export function defineScopes<const Name extends string, const Action extends string>(
  name: Name,
  ...actions: readonly Action[]
): { readonly [Each in Action]: `${Name}:${Each}` } {
  const scopes = actions.map((action) => [action, `${name}:${action}`]);
  return Object.fromEntries(scopes);
}

/** The scopes of all extensions. */
export class StoreScopes {
  constructor(
    readonly all: readonly string[],
    /** A new key gets them, unless its creator names others. */
    readonly ofNewKey: readonly string[],
  ) {}

  /**
   * Requires that a route is public, or declares scopes of this store and is behind the guards. '*' is the route of
   * @fastify/cors.
   *
   * @throws UserError
   */
  check({ method, url, config = {} }: RouteOptions): void {
    const { [SCOPES]: scopes = [] } = config;
    if (config.public || url === '*') return;
    const route = `${String(method)} ${url}`;
    // JavaScript may leave the scope out.
    if (!scopes[0])
      throw new UserError(
        `${route} declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler, which must be a method of a controller.`,
      );
    const unknown = scopes.find((scope) => scope !== ANY_KEY && !this.all.includes(scope));
    if (unknown !== undefined)
      throw new UserError(
        `${route} requires the scope ${unknown}, which no extension declares: use one of ${this.all.join(', ')}.`,
      );
  }
}

/** Types of events by name. The feed and webhooks have them for their account, if the key has the scope. */
export type EventTypes = Readonly<
  Record<
    string,
    {
      /** The DTO class of `data`. */
      readonly data: Type<object>;
      /** The scope that a key needs to read them. A list: any one of these. */
      readonly scope: string | readonly string[];
      /** A key with this scope reads those of every account in the feed. @internal */
      readonly staffScope?: string;
      /** True if they have no account: every account reads them. @internal */
      readonly isShared?: true;
    }
  >
>;

type Modules = readonly (Type | DynamicModule)[];

/** A part of the store: its modules, and the facts about them that the rest of the service needs. */
export interface Extension {
  /** Begins with a-z or 0-9, then ASCII letters, digits and `_:./*-`. Its scopes begin with `${name}:`. */
  readonly name: string;
  /** Or a function of the values of all settings, for modules that a setting switches off. */
  readonly modules?: Modules | ((config: Config & Readonly<Record<string, unknown>>) => Modules);
  /** Migrations of TypeORM with a `down`. The name of each class ends with its timestamp in milliseconds. */
  readonly migrations?: readonly (new () => MigrationInterface)[];
  /** From `defineScopes(name, …)`. */
  readonly scopes?: readonly DefinedScope[];
  /** Groups of operations in the OpenAPI document, with their descriptions. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Codes of the operations in their `on`, else of every operation. An own operation names its codes in `rejects`. */
  readonly errors?: readonly DefinedError[];
  /** Types of events, such as `grooming.booked`, that it writes with `Events`. They begin with `${name}.`. */
  readonly events?: EventTypes;
  /** They are read with the store's own. A class gets their values from `@Inject(CONFIG)`, as `ConfigOf<…>`. */
  readonly settings?: Settings;
  /** The versions of `animal-store` that it works with, a range of semver such as `^2.0.0`. */
  readonly compatibility?: string;
}

/** A class with `@StoreExtension`, or an extension whose modules the settings choose. */
export type ExtensionModule = Type | Extension;

const EXTENSION = 'animal-store:extension';

/**
 * Declares the module of an extension: the members of Nest's `@Module`, and the facts of the extension. If it has one tag,
 * the operations of its controllers get it.
 */
export function StoreExtension(declared: ModuleMetadata & Omit<Extension, 'modules'>): ClassDecorator {
  const { imports = [], controllers = [], providers = [], exports = [], ...facts } = declared;
  return (target) => {
    Module({ imports, controllers, providers, exports })(target);
    SetMetadata(EXTENSION, facts)(target);
    const tags = Object.keys(facts.tags ?? {});
    if (tags.length === 1) for (const each of controllers) ApiTags(...tags)(each);
  };
}

/** @throws UserError for another value, such as undefined if files import each other */
export function extensionOf(given: ExtensionModule | undefined): Extension {
  const isClass = typeof given === 'function';
  const facts = isClass ? new Reflector().get<Extension | undefined>(EXTENSION, given) : given;
  if (typeof facts?.name === 'string') return isClass ? { ...facts, modules: [given] } : facts;
  throw new UserError(
    `${isClass ? given.name : typeof given} is no extension: give classes with @StoreExtension({ name: …, … }), from files that do not import each other.`,
  );
}
