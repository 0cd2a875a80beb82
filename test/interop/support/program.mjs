import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FOLDER } from './files.mjs';

/** Programs that ask for updates or report their use would speak to other hosts. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };

export const environment = { ...process.env, ...QUIET };

export const pathOf = (program) => join(FOLDER, 'node_modules', '.bin', program);

/** Runs a program of this package to its end; its whole output is the message where it fails. */
export async function run(program, ...args) {
  try {
    const { stdout, stderr } = await promisify(execFile)(pathOf(program), args, {
      cwd: FOLDER,
      env: environment,
      maxBuffer: 10_000_000,
    });
    return `${stdout}${stderr}`;
  } catch (error) {
    throw new Error(`${program} ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`, { cause: error });
  }
}
