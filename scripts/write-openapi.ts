/** Writes openapi.json, and the tables of docs/api.md, from the code (`npm run openapi`). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withApiTables } from './api-tables';
import { currentDocument } from './current-document';

const ROOT = join(__dirname, '..');
const PAGE = join(ROOT, 'docs', 'api.md');

async function main(): Promise<void> {
  const text = await currentDocument();
  writeFileSync(join(ROOT, 'openapi.json'), text);
  writeFileSync(PAGE, withApiTables(readFileSync(PAGE, 'utf8'), JSON.parse(text)));
}

void main();
