import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { GONE_SETTINGS, type Setting, settings } from './settings';
import { UserError } from './user-error';

/** Settings by their names in the `Config`. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The values of settings, for example an extension's. */
export type ConfigOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

/** The settings of one process, read and validated once, including the settings of extensions. */
export type Config = ConfigOf<typeof settings>;

/** Returns the address of the service: the base URL without its `/v1`. */
export const siteOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, '');

export const CONFIG = Symbol('CONFIG');

/** Marks a worker of this service: managers of processes use node:cluster, too. */
export const WORKER_VARIABLE = 'ANIMAL_STORE_WORKER';

export const isWorker = (): boolean => process.env[WORKER_VARIABLE] !== undefined;

/**
 * Adds the variables of `.env` in the working directory to the environment. Variables that are set keep their value.
 *
 * @throws UserError if the file cannot be read
 */
export function loadEnvFile(): void {
  if (!existsSync('.env')) return;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync('.env'));
    for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
  } catch {
    throw new UserError(
      'The file .env cannot be read: make it a file in UTF-8 that this user may read, or remove it.',
    );
  }
}

/**
 * Reads every setting; an unset or empty variable takes its default.
 *
 * @param added the settings of extensions
 * @throws UserError that names every invalid setting, and each that is gone
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
  for (const [variable, fix] of Object.entries(GONE_SETTINGS))
    if (unquoted(env[variable])) problems.push(`${variable} is no longer a setting: ${fix}`);
  if (problems.length > 0)
    throw new UserError(`Invalid settings: ${problems.join('; ')}. Fix them and start again.`);
  // Each value comes from the parser of its own key.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.freeze(Object.fromEntries(entries)) as Config;
}

/** @throws Error if a secret is given twice, or its file cannot be read */
function textOf({ variable, isSecret = false }: Setting<unknown>, env: NodeJS.ProcessEnv) {
  const given = unquoted(env[variable]);
  const fileVariable = `${variable}_FILE`;
  const file = isSecret ? unquoted(env[fileVariable]) : '';
  if (!file) return given;
  if (given) throw new Error(`and ${fileVariable} are both set: keep one of them`);
  const secret = unquoted(readFileSync(file, 'utf8'));
  if (secret === '') throw new Error(`is missing: the file of ${fileVariable} is empty`);
  return secret;
}

/** Removes white space, byte-order marks, and quotes around a value: `docker --env-file` and files of secrets keep them. */
function unquoted(value = ''): string {
  return value.trim().replace(/^(["'])\s*(.*?)\s*\1$/s, '$2');
}
