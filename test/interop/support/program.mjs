import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FOLDER } from './files.mjs';

/** Turns off update checks and telemetry, which would connect to other hosts. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };

export const environment = { ...process.env, ...QUIET };

export const pathOf = (program) => join(FOLDER, 'node_modules', '.bin', program);

/** Runs a program of this package until it ends. If it fails, the error has its whole output. */
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
