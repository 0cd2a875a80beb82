import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Nothing but what the page asks for: no updates, no sync, no other protocol than the service's. */
export const CHROMIUM_FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Chromium, by CHROMIUM_PATH or on the path; undefined where there is none.
 *
 * @throws Error where there is none and CI=true: there everything must run
 */
export function findChromium(): string | undefined {
  const { CHROMIUM_PATH, PATH = '', CI } = process.env;
  const places = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = (CHROMIUM_PATH ? [CHROMIUM_PATH] : places).find(isProgram);
  if (found === undefined && CI === 'true') {
    throw new Error('CI=true, and there is no Chromium: apt-get install chromium, or set CHROMIUM_PATH.');
  }
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
