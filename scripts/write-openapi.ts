/** Writes openapi.json, docs/errors.md and the scopes in docs/guide.md from the code (`npm run openapi`). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorsPage, withScopes } from './api-tables';
import { currentDocument } from './current-document';

const ROOT = join(__dirname, '..');
const GUIDE = join(ROOT, 'docs', 'guide.md');

async function main(): Promise<void> {
  const text = await currentDocument();
  writeFileSync(join(ROOT, 'openapi.json'), text);
  const document = JSON.parse(text);
  writeFileSync(join(ROOT, 'docs', 'errors.md'), errorsPage(document));
  writeFileSync(GUIDE, withScopes(readFileSync(GUIDE, 'utf8'), document));
}

void main();
