// Starts what `nest build` made, on a free port with a database of its own, and runs all tests of this folder against
// it. node:test and not jest: most of these clients are ES modules, which jest on Node 20 would have to recompile, and
// what runs here ought to be what a client of ours runs.
import { spawn } from 'node:child_process';
import { testFiles } from './support/files.mjs';
import { startService } from './support/service.mjs';

const service = await startService();
try {
  const files = testFiles();
  // Together, because one of them waits for a minute to pass.
  const options = ['--test', '--test-reporter=spec', `--test-concurrency=${files.length}`];
  const tests = spawn(process.execPath, [...options, ...files], {
    stdio: 'inherit',
    env: { ...process.env, ...service.environment },
  });
  process.exitCode = await new Promise((resolve) => {
    tests.once('close', (status) => resolve(status ?? 1));
  });
} finally {
  await service.stop();
}
