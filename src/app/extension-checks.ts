import { satisfies } from 'semver';
import { settings } from '../platform/config/settings';
import { UserError } from '../platform/errors/user-error';
import type { Extension } from '../platform/extension/extension';

/** The parts of the service that belong to no extension. */
const CORE: Extension = { name: 'Animal Store', settings };

/** The scopes of an extension begin with its name. */
const NAME = /^[a-z][a-z0-9-]*$/;

/** A scope-token of RFC 6749, section 3.3, without the comma of `--scopes`. */
const SCOPE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;

/** The type of an event is in JSON and in URLs as it is. */
const EVENT = /^[a-z0-9._-]{1,100}$/;

/** Names that no extension may have: the member of `Config` besides the settings, and an event that the feed lacks. */
const RESERVED = ['setting texts', 'event type webhook.test'];

/**
 * Checks the mistakes that no library rejects.
 *
 * @param own the extensions that every store has
 * @param added the extensions of a team
 * @throws UserError that names every mistake
 */
export function checkExtensions(
  own: readonly Extension[],
  added: readonly Extension[],
  version: string,
): void {
  const scopes = [...own, ...added].flatMap((each) => each.scopes ?? []);
  const problems = [
    ...added.flatMap((each) => [...problemsOf(each, version), ...unknownScopesOf(each, scopes)]),
    ...repetitionsIn([CORE, ...own, ...added]),
  ];
  if (problems.length === 0) return;
  throw new UserError(`Invalid extensions: ${problems.join('; ')}. Fix them and start again.`);
}

function problemsOf(
  { name, scopes = [], events = {}, compatibility = '*' }: Extension,
  version: string,
): string[] {
  const misnamed = scopes.filter((scope) => !scope.startsWith(`${name}:`) || !SCOPE.test(scope));
  const types = Object.keys(events).filter((type) => !type.startsWith(`${name}.`) || !EVENT.test(type));
  // A prerelease of a version in the range is in the range, so that an extension can be tried on it.
  const isCompatible = satisfies(version, compatibility, { includePrerelease: true });
  return [
    ...misnamed.map(
      (scope) =>
        `the scope ${scope} of ${name} must begin with "${name}:" and consist of visible ASCII characters without quotes, commas and backslashes`,
    ),
    ...types.map(
      (type) =>
        `the event type ${type} of ${name} must begin with "${name}." and consist of at most 100 lower-case letters, digits, dots, dashes and underscores`,
    ),
    ...(NAME.test(name) ? [] : [`the name ${name} must consist of lower-case letters, digits and dashes`]),
    ...(isCompatible
      ? []
      : [
          `${name} works with animal-store ${compatibility}, and this is ${version}: install a version of ${name} for it`,
        ]),
  ];
}

/** @param known the scopes of the store */
function unknownScopesOf({ events = {} }: Extension, known: readonly string[]): string[] {
  return Object.entries(events).flatMap(([type, { scope }]) =>
    [scope]
      .flat()
      .filter((each) => !known.includes(each))
      .map((each) => `the event type ${type} needs the scope ${each}, which no extension declares`),
  );
}

/** Describes the names that are given twice. */
function repetitionsIn(extensions: readonly Extension[]): string[] {
  const owners = new Map(RESERVED.map((name) => [name, CORE.name]));
  const problems: string[] = [];
  for (const extension of extensions) {
    const names = [`extension ${extension.name}`, ...namesOf(extension)];
    const taken = names.filter((name, at) => owners.has(name) || names.indexOf(name) < at);
    for (const name of names) owners.set(name, owners.get(name) ?? extension.name);
    // Its other names are given twice, too.
    for (const name of taken[0] === names[0] ? taken.slice(0, 1) : taken) {
      problems.push(
        `the ${name} is given by ${owners.get(name)} and again by ${extension.name}: rename or remove one`,
      );
    }
  }
  return problems;
}

/** Lists the names that only one thing of a store may have. */
function namesOf({ scopes = [], events = {}, settings: own = {}, migrations = [] }: Extension): string[] {
  return [
    ...scopes.map((scope) => `scope ${scope}`),
    ...Object.keys(events).map((type) => `event type ${type}`),
    ...Object.keys(own).map((name) => `setting ${name}`),
    ...Object.values(own).map(({ variable }) => `variable ${variable}`),
    ...migrations.map(({ name }) => `migration ${name}`),
  ];
}
