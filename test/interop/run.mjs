// Starts the built service on a free port with an empty database, and runs all tests of this folder against it.
// The tests use node:test, because most of these clients are ES modules, which jest on Node 20 would recompile. The
// tests must run the same code as our clients.
import { spawn } from 'node:child_process';
import { testFiles } from './support/files.mjs';
import { startService } from './support/service.mjs';

const service = await startService();
try {
  const files = testFiles();
  // The files run concurrently, because they wait for their programs.
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
