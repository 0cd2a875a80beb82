/** Makes openapi.json and the schema those that later changes must not break (`npm run openapi:release`). */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStore } from '../src/app/store';
import { missingRelease } from './missing-release';

const ROOT = join(__dirname, '..');
const DOCUMENT = join(ROOT, 'openapi.json');

const problem = missingRelease(
  readFileSync(DOCUMENT, 'utf8'),
  readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
);
if (problem === undefined) {
  copyFileSync(DOCUMENT, join(ROOT, 'test', 'openapi', 'released.json'));
  const migrations = createStore().migrations.map(({ name }) => name);
  const schema = join(ROOT, 'test', 'database', 'released.json');
  writeFileSync(schema, `${JSON.stringify(migrations, null, 2)}\n`);
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
