import satisfies from 'semver/functions/satisfies';
import { settings } from '../config/settings';
import { UserError } from '../config/user-error';
import type { Extension } from '../api/extension/extension';

/** The parts of the service that belong to no extension. */
const CORE: Extension = { name: 'Animal Store', settings };

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
    ...added.flatMap((each) => [...problemsOf(each, scopes, version)]),
    ...repetitionsIn([CORE, ...own, ...added]),
  ];
  if (problems.length === 0) return;
  throw new UserError(`Invalid extensions: ${problems.join('; ')}. Fix them and start again.`);
}

/** @param known the scopes of the store */
function* problemsOf(
  { name, scopes = [], events = {}, migrations = [], compatibility = '*' }: Extension,
  known: readonly string[],
  version: string,
): Generator<string> {
  // The header of a 403 has scopes (RFC 6749, 3.3).
  for (const each of [name, ...scopes])
    if (!/^[a-z\d][\w:./*-]*$/.test(each))
      yield `the name "${each}" of ${name} must begin with a-z or 0-9, and have only ASCII letters, digits and _:./*-`;
  for (const scope of scopes)
    if (!scope.startsWith(`${name}:`)) yield `the scope ${scope} of ${name} must begin with "${name}:"`;
  for (const { name: migration } of migrations)
    if (!/\d{13}$/.test(migration)) yield `the migration ${migration} must end with its time in milliseconds`;
  for (const [type, { scope }] of Object.entries(events)) {
    if (!type.startsWith(`${name}.`)) yield `the event type ${type} of ${name} must begin with "${name}."`;
    const unknown = [scope].flat().find((each) => !known.includes(each));
    if (unknown !== undefined)
      yield `the event type ${type} needs the scope ${unknown}, which no extension declares`;
  }
  // A prerelease of a version in the range is in the range, so that an extension can be tried on it.
  if (!satisfies(version, compatibility, { includePrerelease: true }))
    yield `${name} works with animal-store ${compatibility}, and this is ${version}: install a version of ${name} for it`;
}

/** Describes the names that are given twice. */
function* repetitionsIn(extensions: readonly Extension[]): Generator<string> {
  const owners = new Map<string, string>();
  for (const extension of extensions) {
    for (const name of namesOf(extension)) {
      const owner = owners.get(name);
      if (owner === undefined) owners.set(name, extension.name);
      else yield `the ${name} is given by ${owner} and again by ${extension.name}: rename or remove one`;
    }
  }
}

/** Lists the names that only one thing of a store may have. */
function namesOf({ name, scopes = [], events = {}, settings: own = {}, migrations = [] }: Extension) {
  return [
    `extension ${name}`,
    ...scopes.map((scope) => `scope ${scope}`),
    ...Object.keys(events).map((type) => `event type ${type}`),
    ...Object.keys(own).map((setting) => `setting ${setting}`),
    ...Object.values(own).map(({ variable }) => `variable ${variable}`),
    ...migrations.map((migration) => `migration ${migration.name}`),
  ];
}
