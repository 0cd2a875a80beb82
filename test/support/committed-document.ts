import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Reads `openapi.json`, the document of this version. */
export function readCommittedDocument(): string {
  return readFileSync(join(__dirname, '..', '..', 'openapi.json'), 'utf8');
}
