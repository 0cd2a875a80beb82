/** Writes .env.example and docs/settings.md from the code (`npm run settings`). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsFiles } from './settings-files';

for (const [path, text] of Object.entries(settingsFiles())) writeFileSync(join(__dirname, '..', path), text);
