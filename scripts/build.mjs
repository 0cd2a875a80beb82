// Builds dist. With --if-changed: unless dist/.built has the hash of the sources, which copies, checkouts and clocks do
// not change. Other arguments are those of `nest build`.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';

const MARK = 'dist/.built';
const INSTALL = 'npm ci --include=dev --include=peer --no-legacy-peer-deps';
const [, , ...args] = process.argv;
const isConditional = args[0] === '--if-changed';

/**
 * Hashes names and contents, also those of linked folders, as the compiler reads them. Programs of desktops leave hidden
 * files, which it does not read.
 */
function hashOfSources() {
  const hash = createHash('sha256');
  const settings = readdirSync('.').filter((name) =>
    /^(package|package-lock|nest-cli|tsconfig.*)\.json$/.test(name),
  );
  const sources = readdirSync('src', { recursive: true })
    .map((name) => `src/${name}`)
    .filter((path) => !basename(path).startsWith('.') && isFile(path));
  for (const name of [...settings, ...sources].sort((a, b) => (a < b ? -1 : 1))) {
    const content = readFileSync(name);
    hash.update(`${name} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

/** A link may lead to nothing, or to itself. */
function isFile(path) {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Returns the path of a file of a package, or undefined: npm leaves packages out without an error. */
function find(file) {
  try {
    return createRequire(import.meta.url).resolve(file);
  } catch {
    return undefined;
  }
}

/** Returns why nothing can be built, and what to do. */
function obstacle(compiler) {
  if (!existsSync('src')) return ['the folder src is missing', 'Copy it, too'];
  if (compiler === undefined) return ['the package @nestjs/cli is missing', `Run ${INSTALL}`];
  try {
    mkdirSync('dist', { recursive: true });
    accessSync('dist', constants.W_OK);
    // A build of another user may have left single files. The mark is not rewritten but removed.
    for (const name of readdirSync('dist', { recursive: true }))
      if (name.endsWith('.js')) accessSync(`dist/${name}`, constants.W_OK);
  } catch ({ code, path }) {
    return [`${path} cannot be written (${code})`, 'Run npm run build as a user that may write it'];
  }
  return [];
}

function fail(sentences) {
  console.error(sentences);
  process.exit(1);
}

// The program itself rejects these versions, too, but some of them cannot build it.
const { node } = process.versions;
const [major, minor] = node.split('.').map(Number);
if (!(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)))
  fail(
    `Animal Store needs Node.js 20 (20.19 or later), or 22.12 or later; this is ${node}. Install Node.js 24 from https://nodejs.org.`,
  );
// With legacy-peer-deps npm leaves NestJS out, and with NODE_ENV=production the compiler.
if (!find('@nestjs/core/package.json')) fail(`The package @nestjs/core is missing. Run ${INSTALL}.`);
const built = existsSync(MARK) && existsSync('dist/main.js') ? readFileSync(MARK, 'utf8') : undefined;
const hash = existsSync('src') ? hashOfSources() : built;
if (isConditional && hash !== undefined && hash === built) process.exit();
const compiler = find('@nestjs/cli/bin/nest.js');
const [reason, fix] = obstacle(compiler);
if (reason && isConditional && built !== undefined) {
  console.error(`Using dist, which was built from other sources: ${reason}.`);
  process.exit();
}
if (reason) fail(`Nothing can be built: ${reason}. ${fix}, or npm run start:prod if dist is complete.`);
console.error('Building…');
// The build of other sources that ends early leaves no mark.
rmSync(MARK, { force: true });
const options = isConditional ? [] : args;
const { status } = spawnSync(process.execPath, [compiler, 'build', ...options], { stdio: ['ignore', 2, 2] });
if (status !== 0) process.exit(1);
writeFileSync(MARK, hash);
