import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Finds a program by its variable, such as NGINX_PATH, or on the path and in further folders.
 *
 * @returns undefined if it is not installed
 * @throws Error if it is not installed and CI=true, because CI must run every test
 */
export function findProgram({ variable, names, folders = [], install }) {
  const { PATH = '', CI, [variable]: named } = process.env;
  const places = [...PATH.split(delimiter), ...folders].flatMap((folder) =>
    names.map((name) => join(folder, name)),
  );
  const found = (named ? [named] : places).find(isProgram);
  if (found === undefined && CI === 'true') {
    throw new Error(
      `CI=true and ${names[0]} is not installed. Run apt-get install ${install}, or set ${variable}.`,
    );
  }
  return found;
}

/** Finds Chromium by CHROMIUM_PATH or on the path. */
export const findChromium = () =>
  findProgram({
    variable: 'CHROMIUM_PATH',
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    install: 'chromium',
  });

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
