import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Finds Chromium by CHROMIUM_PATH or on the path.
 *
 * @returns undefined if it is not installed
 * @throws Error if it is not installed and CI=true, because CI must run every test
 */
export function findChromium() {
  const { PATH = '', CI, CHROMIUM_PATH: named } = process.env;
  const places = PATH.split(delimiter).flatMap((folder) =>
    ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)),
  );
  const found = (named ? [named] : places).find(isProgram);
  if (found === undefined && CI === 'true')
    throw new Error(
      'CI=true and Chromium is not installed. Run apt-get install chromium, or set CHROMIUM_PATH.',
    );
  return found;
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
