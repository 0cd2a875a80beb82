/**
 * Exits if this Node.js cannot load NestJS 12 (ES modules through `require`: `engines` in package.json).
 * Import it first, for its effect: the imports after it would fail with a stack trace.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;

if (!isSupported) {
  process.stderr.write(
    `Animal Store needs Node.js 20.19 or later (of the 22 line 22.12 or later); this is ${process.versions.node}. Install Node.js 24 from https://nodejs.org.\n`,
  );
  process.exit(1);
}
