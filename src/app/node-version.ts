import satisfies from 'semver/functions/satisfies';

const { node } = process.versions;

// NestJS 12 needs `require` of ES modules. A program imports this file first: the next imports would fail with a stack trace.
if (!satisfies(node, '^20.19.0 || >=22.12.0', { includePrerelease: true })) {
  process.stderr.write(
    `Animal Store needs Node.js 20 (20.19 or later), or 22.12 or later; this is ${node}. Install Node.js 24 from https://nodejs.org.\n`,
  );
  process.exit(1);
}
