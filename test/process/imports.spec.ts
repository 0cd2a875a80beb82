import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

/** Imports files on an old Node.js, and compares what a program has chosen. Prints the number of names. */
const PROGRAM = `
  const calls = [];
  const v8 = require('node:v8');
  v8.setFlagsFromString = (flag) => calls.push(flag);
  process.exit = (status) => calls.push('exit ' + status);
  process.stderr.write = (text) => calls.push(text);
  const { versions } = process;
  Object.defineProperty(process, 'version', { value: 'v18.20.0' });
  Object.defineProperty(process, 'versions', { value: { ...versions, node: '18.20.0' } });
  const chosen = () => ({
    calls: [...calls],
    environment: { ...process.env },
    folder: process.cwd(),
    listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    exitCode: process.exitCode,
    stackTraceLimit: Error.stackTraceLimit,
    title: process.title,
    timers: process.getActiveResourcesInfo().filter((each) => each === 'Timeout'),
  });
  const before = chosen();
  const modules = process.argv.slice(1).map((file) => require(file));
  require('node:assert').deepEqual(chosen(), before);
  console.log(...modules.map((names) => Object.keys(names).length));
`;

describe('a program that imports', () => {
  it('the package keeps its own flags, and runs on a Node.js that the service does not support', () => {
    const hook = join(ROOT, 'test', 'support', 'typescript.cjs');
    const options = ['--stack-trace-limit=7', '--heap-growing-percent=80', '-r', hook, '-e', PROGRAM];
    const files = ['index', 'replace', 'testing/index'].map((file) => join(ROOT, 'src', file));
    const output = execFileSync(process.execPath, [...options, ...files], { encoding: 'utf8' });
    expect(output).toMatch(/^[1-9]\d* [1-9]\d* [1-9]\d*\n$/);
  });
});
