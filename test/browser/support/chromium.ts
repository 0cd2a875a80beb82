import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describeWhen } from '../../support/it-when';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Chromium sends only the page's own requests: no updates, no sync, no QUIC. */
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
 * Finds Chromium by CHROMIUM_PATH or on the PATH.
 *
 * @returns undefined if Chromium is not installed
 * @throws Error if Chromium is not installed and CI=true, because CI must run every spec
 */
export function findChromium(): string | undefined {
  const { CHROMIUM_PATH, PATH = '', CI } = process.env;
  const places = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = (CHROMIUM_PATH ? [CHROMIUM_PATH] : places).find(isProgram);
  if (found === undefined && CI === 'true') {
    throw new Error(
      'CI=true and Chromium is not installed. Run apt-get install chromium, or set CHROMIUM_PATH.',
    );
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

/** Describes specs that need Chromium. Without it they are skipped, and one line of output gives the reason. */
export function inChromium(name: string, specs: (chromium: string) => void): void {
  const chromium = findChromium();
  const reason = 'needs Chromium: apt-get install chromium, or CHROMIUM_PATH';
  describeWhen(chromium !== undefined, reason)(`${name} in Chromium`, () => specs(chromium!));
}
