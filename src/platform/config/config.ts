import { type Setting, settings } from './settings';
import { UserError } from '../errors/user-error';

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** Settings by their names in the `Config`. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The values of settings, such as those of an extension. */
export type ConfigOf<S extends Settings> = { readonly [K in keyof S]: ValueOf<S[K]> };

/** The settings of one process, read and validated once. Those of extensions are members, too. */
export type Config = ConfigOf<typeof settings>;

/**
 * Reads every setting; an unset or empty variable takes its default.
 *
 * @param added the settings of extensions
 * @throws UserError that names every invalid setting
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env, added: Settings = {}): Config {
  const problems: string[] = [];
  const entries = Object.entries<Setting<unknown>>({ ...settings, ...added }).map(
    ([key, { variable, defaultText, parse }]) => {
      try {
        return [key, parse(env[variable]?.trim() || defaultText)];
      } catch (error) {
        problems.push(`${variable} ${error instanceof Error ? error.message : String(error)}`);
        return [key, undefined];
      }
    },
  );
  if (problems.length > 0) {
    throw new UserError(`Invalid settings: ${problems.join('; ')}. Fix them and start again.`);
  }
  // Each value comes from the parser of its own key.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.freeze(Object.fromEntries(entries)) as Config;
}
