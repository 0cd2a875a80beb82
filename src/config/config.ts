import { type Setting, settings } from './settings';

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The settings of one process, read and checked once. */
export type Config = { readonly [K in keyof typeof settings]: ValueOf<(typeof settings)[K]> };

/** Bad settings: the message names every one of them. */
export class ConfigError extends Error {}

/**
 * Reads every setting; an unset or empty variable has its default.
 *
 * @throws ConfigError that names every bad setting
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const entries = Object.entries<Setting<unknown>>(settings).map(([key, { variable, byDefault, parse }]) => {
    try {
      return [key, parse(env[variable]?.trim() || byDefault)];
    } catch (error) {
      problems.push(`${variable} ${error instanceof Error ? error.message : String(error)}`);
      return [key, undefined];
    }
  });
  if (problems.length > 0) {
    throw new ConfigError(`Mend these settings and start again: ${problems.join('; ')}.`);
  }
  // Every key of the table went through its own parser above.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.freeze(Object.fromEntries(entries)) as Config;
}
