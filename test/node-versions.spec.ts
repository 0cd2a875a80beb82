/** @jest-environment-options {"ownSources": true} */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

const read = (file: string): string => readFileSync(join(__dirname, '..', file), 'utf8');
const workflow = load(read('.github/workflows/ci.yml')) as {
  jobs: { 'node-lines': { strategy: { matrix: { node: number[] } } } };
};

/** Runs the check of `main.ts` with this version of Node.js. */
function check(version: string): { exit: number | undefined; message: string } {
  const { node } = process.versions;
  const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  Object.defineProperty(process.versions, 'node', { value: version });
  try {
    jest.isolateModules(() => require('../src/platform/runtime/node-version'));
    return { exit: exit.mock.calls[0]?.[0] as number | undefined, message: write.mock.calls.join('') };
  } finally {
    Object.defineProperty(process.versions, 'node', { value: node });
    jest.restoreAllMocks();
  }
}

describe('Node.js versions', () => {
  it('.nvmrc, the image and the README name the same major version', () => {
    const line = read('.nvmrc').trim();
    const images = [...read('Dockerfile').matchAll(/^FROM node:(\d+)-/gm)].map(([, number]) => number);
    expect(images).toEqual([line, line, line]);
    expect(read('README.md')).toContain(`On a fresh machine with Node.js ${line} and nothing else:`);
    expect(check('18.20.0').message).toContain(`Install Node.js ${line} `);
  });

  it('CI runs the major versions of .ci/node-lines, that of .nvmrc included', () => {
    const lines = /^LINES=\((.*)\)$/m.exec(read('.ci/node-lines'))?.[1]?.split(' ').map(Number);
    expect(workflow.jobs['node-lines'].strategy.matrix.node).toEqual(lines);
    expect(lines).toContain(Number(read('.nvmrc')));
  });

  it('package.json and the README name the accepted versions', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    expect(engines.node).toBe('^20.19.0 || >=22.12.0');
    expect(read('README.md')).toContain(
      'Node.js 22 (from 22.12), 26 and 20 (from 20.19) run the service too',
    );
  });

  it.each(['20.19.0', '22.12.0', '23.0.0', '24.0.0', '26.0.0'])('%s: starts', (version) => {
    expect(check(version)).toEqual({ exit: undefined, message: '' });
  });

  it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])('%s: exits with one sentence', (version) => {
    const { exit, message } = check(version);
    expect(exit).toBe(1);
    expect(message).toMatch(/^Animal Store needs Node\.js .*\n$/);
    expect(message).toContain(`this is ${version}.`);
  });
});
