import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FOLDER } from './files.mjs';

const MAX_START_MS = 180_000;

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

/** Waits until a program has printed the address on which it listens. @throws Error with its output if it fails */
export function addressOf(child) {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = () => reject(new Error(`${child.spawnargs.join(' ')} did not start: ${output}`));
    const timer = setTimeout(fail, MAX_START_MS);
    child.once('close', fail);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk;
        const address = /listen(?:s|ing) on (\S+)\s/.exec(output)?.[1];
        if (address === undefined) return;
        clearTimeout(timer);
        resolve(address);
      });
    }
  });
}
