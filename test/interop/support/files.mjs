import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export const FOLDER = join(import.meta.dirname, '..');
export const ROOT = join(FOLDER, '..', '..');

/** The committed OpenAPI document. */
export const DOCUMENT = join(ROOT, 'openapi.json');

export const testFiles = () =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.test.mjs'))
    .map((name) => join(FOLDER, name));
