/** Writes openapi.json from the code (`npm run openapi`). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentDocument } from './current-document';

void currentDocument().then((text) => writeFileSync(join(__dirname, '..', 'openapi.json'), text));
