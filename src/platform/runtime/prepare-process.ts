import { setFlagsFromString } from 'node:v8';
import 'reflect-metadata';

/** The flags of V8 in every process (docs/decisions/0014). */
export const V8_FLAGS: readonly string[] = [
  // The objects of a request stay in the young generation. Costs without it: a fifth of the mixed pages, 100 MiB.
  '--no-allocation-site-pretenuring',
  // A minor collection copies 0.2 MB: to wake other threads takes longer.
  '--no-parallel-scavenge',
  // A major collection begins when the old generation has grown by half. Costs without it: 35 to 75 MiB.
  '--heap-growing-percent=50',
];

for (const flag of V8_FLAGS) setFlagsFromString(flag);

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
