import './v8-flags';
import 'reflect-metadata';

/**
 * Exits if this Node.js cannot load NestJS 12, which needs `require` of ES modules (`engines` in package.json).
 * Import this file first: without it the next imports fail with a stack trace.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;

if (!isSupported) {
  process.stderr.write(
    `Animal Store needs Node.js 20 (20.19 or later), or 22.12 or later; this is ${process.versions.node}. Install Node.js 24 from https://nodejs.org.\n`,
  );
  process.exit(1);
}
