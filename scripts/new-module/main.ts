/** Creates a module with its specs (`npm run new:module -- NAME [SINGULAR]`). */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { createStore } from '../../src/app/store';
import { extensionLine, moduleFiles, requireFree, ROOT } from './module-files';
import { NameError, parseName } from './names';

const LIST = 'src/app/own-extensions.ts';
const FIRST_ARGUMENT = 2;
const WRONG_USAGE = 2;

async function main(): Promise<void> {
  const name = parseName(process.argv.slice(FIRST_ARGUMENT));
  const { migrations, scopes } = createStore();
  requireFree(name, scopes);
  const files = moduleFiles(name, { number: migrations.length + 1, timestamp: Date.now() });
  for (const [path, text] of files) await write(path, text);
  appendFileSync(join(ROOT, LIST), extensionLine(name));
  process.stdout.write(`Created src/${name.plural} and test/${name.plural}, and added the module to ${LIST}.
Now run: npm run -s openapi && npx jest --selectProjects test --testPathPatterns test/${name.plural}
`);
}

/** The length of a name decides where lines break. */
async function write(path: string, text: string): Promise<void> {
  const file = join(ROOT, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}

void main().catch((error: unknown) => {
  if (!(error instanceof NameError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = WRONG_USAGE;
});
