import { type Setting, settings } from './settings';
import { readSecretFile, fileVariableOf } from './secret-file';
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
  const entries = Object.entries<Setting<unknown>>({ ...settings, ...added }).map(([key, setting]) => {
    try {
      return [key, setting.parse(textOf(setting, env) || setting.defaultText)];
    } catch (error) {
      problems.push(`${setting.variable} ${error instanceof Error ? error.message : String(error)}`);
      return [key, undefined];
    }
  });
  if (problems.length > 0) {
    throw new UserError(`Invalid settings: ${problems.join('; ')}. Fix them and start again.`);
  }
  // Each value comes from the parser of its own key.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.freeze(Object.fromEntries(entries)) as Config;
}

/** @throws Error if a secret is given twice, or its file cannot be read */
function textOf(
  { variable, isSecret = false }: Setting<unknown>,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const given = env[variable]?.trim();
  const file = isSecret ? env[fileVariableOf(variable)]?.trim() : undefined;
  if (!file) return given;
  if (given) throw new Error(`and ${fileVariableOf(variable)} are both set: keep one of them`);
  return readSecretFile(fileVariableOf(variable), file);
}
