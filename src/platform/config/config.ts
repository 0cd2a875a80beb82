import { isUtf8 } from 'node:buffer';
import { lstatSync, readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { path as pathOf } from './parsers';
import { GONE_SETTINGS, type Setting, settings } from './settings';
import { UserError } from '../errors/user-error';

/** Settings by their names in the `Config`. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The values of settings, for example an extension's. */
export type ConfigOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

/** The settings of one process, read and validated once, including the settings of extensions. */
export type Config = ConfigOf<typeof settings> & {
  /** The text of each setting by its variable, for other processes: a file of a secret may be a pipe. */
  readonly texts: Readonly<Record<string, string>>;
};

/** Returns the address of the service: the base URL without its `/v1`. */
export const siteOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, '');

export const CONFIG = Symbol('CONFIG');

/** The settings of a worker: a secret may come from a pipe, which only one process can read. */
export type WorkerConfig = Pick<Config, 'texts'> & { readonly databaseUrl: string };

/** Managers of processes use node:cluster, too. */
export const WORKER_VARIABLE = 'ANIMAL_STORE_WORKER';

/** Returns the settings of this process if it is a worker. Programs that it starts do not get them. */
export function takeWorkerConfig(): WorkerConfig | undefined {
  const { [WORKER_VARIABLE]: text } = process.env;
  Reflect.deleteProperty(process.env, WORKER_VARIABLE);
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * Adds the variables of `.env` in the working directory to the environment. Variables that are set keep their value.
 *
 * @throws UserError if the file cannot be read
 */
export function loadEnvFile(): void {
  try {
    // A link whose file is missing is a mistake.
    if (!lstatSync('.env', { throwIfNoEntry: false })) return;
    const variables = parseEnv(readText('.env'));
    for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
  } catch {
    const fix = `make it a file that this user may read (${TEXT_FILE}), or remove it.`;
    throw new UserError(`The file .env cannot be read: ${fix}`);
  }
}

const MAX_FILE_BYTES = 1_048_576;
const TEXT_FILE = 'UTF-8 text, at most 1 MiB';

/** Returns the text of a file without byte-order marks. @throws Error unless it is TEXT_FILE */
function readText(path: string): string {
  const stats = statSync(path);
  // A named pipe would stop the start until a program writes to it. A shell passes `<(…)` as a pipe.
  const isReadable = stats.isFile() || path.startsWith('/dev/fd/');
  const bytes = isReadable && stats.size <= MAX_FILE_BYTES ? readFileSync(path) : undefined;
  // UTF-16, as PowerShell writes it, has null bytes.
  if (!bytes || !isUtf8(bytes) || bytes.includes(0)) throw new Error(`it is not ${TEXT_FILE}`);
  return bytes.toString().replaceAll('\uFEFF', '');
}

/**
 * Reads every setting; an unset or empty variable takes its default.
 *
 * @param added the settings of extensions
 * @throws UserError that names every invalid setting, and each that is gone
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env, added: Settings = {}): Config {
  const problems: string[] = [];
  const texts: Record<string, string> = {};
  const entries = Object.entries<Setting<unknown>>({ ...settings, ...added }).map(([key, setting]) => {
    try {
      const text = textOf(setting, env);
      // The next reading removes these quotes only.
      texts[setting.variable] = `"${text}"`;
      return [key, setting.parse(text || setting.defaultText)];
    } catch (error) {
      problems.push(`${setting.variable} ${error instanceof Error ? error.message : String(error)}`);
      return [key, undefined];
    }
  });
  for (const [variable, fix] of Object.entries(GONE_SETTINGS))
    if (unquoted(env[variable])) problems.push(`${variable} is no longer a setting: ${fix}`);
  const values: Record<string, unknown> = Object.fromEntries(entries);
  if (Number(values['workers']) > 1 && !values['redisUrl'])
    problems.push('WORKERS above 1 needs REDIS_URL, which makes the limits exact over all of them');
  if (problems.length > 0) {
    throw new UserError(`Invalid settings: ${problems.join('; ')}. Fix them and start again.`);
  }
  // Each value comes from the parser of its own key.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.freeze({ ...values, texts }) as Config;
}

/** @throws Error if a secret is given twice, or its file cannot be read */
function textOf({ variable, isSecret = false }: Setting<unknown>, env: NodeJS.ProcessEnv) {
  const given = unquoted(env[variable]);
  const fileVariable = `${variable}_FILE`;
  const file = isSecret ? unquoted(env[fileVariable]) : '';
  if (!file) return given;
  if (given) throw new Error(`and ${fileVariable} are both set: keep one of them`);
  const secret = unquoted(readSecret(fileVariable, file));
  if (secret === '') throw new Error(`is missing: the file of ${fileVariable} is empty`);
  return secret;
}

/** Removes white space, and quotes around a value: `docker --env-file` and files of secrets keep them. */
function unquoted(value = ''): string {
  return value.trim().replace(/^(["'])\s*(.*?)\s*\1$/s, '$2');
}

/** Reads the file with a secret, as Docker and Kubernetes provide it. The message never contains the secret. */
function readSecret(variable: string, path: string): string {
  try {
    return readText(pathOf(path));
  } catch {
    throw new Error(
      `cannot be read: ${variable} must name a file that this user may read, not "${path}" (${TEXT_FILE})`,
    );
  }
}
