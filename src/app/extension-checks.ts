import { isDeepStrictEqual } from 'node:util';
import type { INestApplication } from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { parse, stringify } from 'lossless-json';
import { satisfies } from 'semver';
import { declaredOperations } from '../platform/api-docs/operation.decorator';
import type { Config } from '../platform/config/config';
import { settings } from '../platform/config/settings';
import { coreMigrations } from '../platform/database/migrations/platform.migrations';
import { platformCodes } from '../platform/errors/platform.errors';
import { UserError } from '../platform/errors/user-error';
import type { Extension } from '../platform/extension/extension';
import { SystemClock } from '../platform/runtime/clock';
import { operationsOf } from '../server/openapi/codes';
import { variantOf } from '../server/openapi/event-schemas';
import { documentsOf, type NestModule } from '../server/openapi/extension-documents';
import { AppModule, VERSIONING } from './app.module';
import { createStore, OWN_EXTENSIONS, type Store, version } from './store';

/** The parts of the service that belong to no extension. */
const CORE = {
  name: 'Animal Store',
  modules: [],
  settings,
  migrations: coreMigrations,
  errors: platformCodes,
};

/** The scopes of an extension begin with its name. */
const NAME = /^[a-z][a-z0-9-]*$/;

/** A scope-token of RFC 6749, section 3.3, without the comma of `--scopes`. */
const SCOPE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;

/** The type of an event is in JSON and in URLs as it is. */
const EVENT = /^[a-z0-9._-]{1,100}$/;

/** The feed does not have it. */
const TEST_TYPE = 'webhook.test';

/** A statement in the source of a migration. A table that may exist is shared. */
const CREATED = /(?<=[`'";]\s*)create table (?!if\b)(\w+)/gi;

/** Checks the extensions of a team before anything is written. @throws UserError that names every mistake */
export async function checkExtensions(store: Store, config: Config): Promise<void> {
  if (store.added.length === 0) return;
  const once = createStore([...new Set(store.added)]);
  const app = await createPreview(config, once);
  const basis = { openapi: '3.0.3', info: { title: '', version } };
  const documents = documentsOf(app, [CORE, ...once.extensions(config)], basis);
  const names = [...OWN_EXTENSIONS, ...store.added].map(({ name }) => name);
  const twice = names.filter((name, at) => names.indexOf(name) < at);
  const problems = [
    ...twice.map((name) => `the extension ${name} is given twice`),
    ...store.added.flatMap(problemsOf),
    ...store.added.flatMap((each) => problemsOfEvents(each, store.scopes)),
    ...documents.flatMap(({ modules }) => modules).flatMap(untypedClasses),
    ...collisionsOf(documents.flatMap(claimsOf)),
  ];
  if (problems.length === 0) return;
  throw new UserError(`Invalid extensions: ${problems.join('; ')}. Fix them and start again.`);
}

/** Creates the application without instances: nothing is connected, and no provider runs. */
export async function createPreview(config: Config, store: Store): Promise<INestApplication> {
  const { databaseUrl = 'postgres://none' } = config;
  const module = AppModule.forRoot({ ...config, databaseUrl }, new SystemClock(), store);
  const options = { preview: true, logger: false, abortOnError: false } as const;
  const app = await NestFactory.create(module, new FastifyAdapter(), options);
  return app.enableVersioning(VERSIONING);
}

function problemsOf({ name, scopes = [], migrations = [], compatibility = '*' }: Extension): string[] {
  const problems = scopes
    .filter((scope) => !scope.startsWith(`${name}:`) || !SCOPE.test(scope))
    .map(
      (scope) =>
        `the scope ${scope} of ${name} must begin with "${name}:" and consist of visible ASCII characters without quotes, commas and backslashes`,
    );
  if (!NAME.test(name))
    problems.push(`the name ${name} must consist of lower-case letters, digits and dashes`);
  for (const { name: migration } of migrations.filter((each) => !/\d{13}$/.test(each.name))) {
    problems.push(`the name of the migration ${migration} must end with a timestamp in milliseconds`);
  }
  // A prerelease of a version in the range is in the range, so that an extension can be tried on it.
  if (satisfies(version, compatibility, { includePrerelease: true })) return problems;
  const fix = `install a version of ${name} for it`;
  return [...problems, `${name} works with animal-store ${compatibility}, and this is ${version}: ${fix}`];
}

/** @param known the scopes of the store */
function problemsOfEvents({ name, events = {} }: Extension, known: readonly string[]): string[] {
  return Object.entries(events).flatMap(([type, { scope }]) => {
    const unknown = [scope].flat().filter((each) => !known.includes(each));
    const isNamed = type.startsWith(`${name}.`) && EVENT.test(type);
    const form = `must begin with "${name}." and consist of at most 100 lower-case letters, digits, dots, dashes and underscores`;
    return [
      ...(isNamed ? [] : [`the event type ${type} of ${name} ${form}`]),
      ...unknown.map((each) => `the event type ${type} needs the scope ${each}, which no extension declares`),
    ];
  });
}

/** Without the types of its constructor NestJS creates a class with undefined arguments. */
function untypedClasses({ name, providers, injectables, controllers }: NestModule): string[] {
  return [...providers.values(), ...injectables.values(), ...controllers.values()].flatMap(
    ({ token, metatype, isNotMetatype }) =>
      token === ModuleRef || isNotMetatype || !metatype?.length || hasTypes(metatype)
        ? []
        : `${metatype.name}, in ${name}, has no types of its constructor: add @Injectable(), and set emitDecoratorMetadata in tsconfig.json`,
  );
}

/** True if TypeScript emitted the types of a constructor, or `@Inject()` names them. */
function hasTypes(metatype: object): boolean {
  return Reflect.getMetadataKeys(metatype).some((key) => String(key).endsWith(':paramtypes'));
}

/** Lists the names that only one thing of a store may have. It is the same thing if the values are equal. */
function claimsOf({ extension, modules, paths, schemas }: ReturnType<typeof documentsOf>[number]) {
  const {
    name: owner,
    scopes = [],
    events = {},
    tags = {},
    settings: own = {},
    errors = [],
    migrations = [],
  } = extension;
  const controllers = modules.flatMap((module) => [...module.controllers.values()]);
  const operations = controllers.flatMap(({ metatype }) => (metatype ? declaredOperations(metatype) : []));
  const classes = operations.flatMap(({ types, returns: [, body = []] }) => [body, ...types].flat());
  const claim = (name: string, value: unknown = Symbol(name)) => ({ owner, name, value });
  return [
    ...scopes.map((scope) => claim(`scope ${scope}`)),
    ...[...Object.keys(events), ...(owner === 'webhooks' ? [TEST_TYPE] : [])].map((type) =>
      claim(`event type ${type}`),
    ),
    ...Object.values(events).map(({ data }) => claim(`schema ${variantOf(data)}`, data)),
    ...migrations.map(({ name }) => claim(`migration ${name}`)),
    ...Object.keys(tags).map((tag) => claim(`tag ${tag}`)),
    // Config has `texts` besides the settings.
    ...[...Object.keys(own), ...(owner === CORE.name ? ['texts'] : [])].map((name) =>
      claim(`setting ${name}`),
    ),
    ...Object.values(own).map(({ variable }) => claim(`variable ${variable}`)),
    ...operationsOf(paths).map(({ operationId }) => claim(`operation ${operationId}`)),
    ...Object.entries(paths).flatMap(([path, item]) => {
      const address = path.replaceAll(/\{.*?\}/g, '{id}');
      return Object.keys(item).map((method) => claim(`route ${method.toUpperCase()} ${address}`));
    }),
    // Migrations of one extension may drop a table and create it again.
    ...Array.from(migrations.join(';').matchAll(CREATED), ([, table]) => claim(`table ${table}`, owner)),
    ...[...errors, ...operations.flatMap(({ rejects }) => rejects)].map((each) =>
      claim(`error code ${each.code}`, each),
    ),
    ...classes.flatMap((each) => (each.name in schemas ? claim(`class ${each.name}`, each) : [])),
    // A schema of a query has other undefined members.
    ...Object.entries(schemas).map(([name, each]) => claim(`schema ${name}`, parse(stringify(each) ?? ''))),
  ];
}

/** Describes the names that are given twice, in one sentence for each two owners. */
function collisionsOf(claims: ReturnType<typeof claimsOf>): string[] {
  const first = new Map<string, (typeof claims)[number]>();
  const collisions = new Map<string, Set<string>>();
  for (const claim of claims) {
    const other = first.get(claim.name) ?? claim;
    first.set(claim.name, other);
    if (isDeepStrictEqual(other.value, claim.value)) continue;
    const isOwn = other.owner === claim.owner;
    const owners = isOwn ? `${claim.owner} has twice` : `${other.owner} and ${claim.owner} both have`;
    collisions.set(owners, (collisions.get(owners) ?? new Set()).add(`the ${claim.name}`));
  }
  return [...collisions].map(
    ([owners, names]) =>
      `${owners} ${[...names].join(', ')}: change one of ${names.size > 1 ? 'each' : 'them'}`,
  );
}
