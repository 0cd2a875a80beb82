/** Makes openapi.json the document that later changes must not break (`npm run openapi:release`). */
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingRelease } from './missing-release';

const ROOT = join(__dirname, '..');
const DOCUMENT = join(ROOT, 'openapi.json');

const problem = missingRelease(
  readFileSync(DOCUMENT, 'utf8'),
  readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
);
if (problem === undefined) {
  copyFileSync(DOCUMENT, join(ROOT, 'test', 'openapi', 'released.json'));
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
