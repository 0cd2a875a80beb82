/** @jest-environment-options {"ownSources": true} */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Runs the check of `main.ts` with this version of Node.js. */
function check(version: string): { exit: number | undefined; message: string } {
  const { node } = process.versions;
  const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  Object.defineProperty(process.versions, 'node', { value: version });
  try {
    jest.isolateModules(() => require('../src/app/node-version'));
    return { exit: exit.mock.calls[0]?.[0] as number | undefined, message: write.mock.calls.join('') };
  } finally {
    Object.defineProperty(process.versions, 'node', { value: node });
    jest.restoreAllMocks();
  }
}

describe('Node.js versions', () => {
  it('are the same in .nvmrc, package.json, the image, CI and the README', () => {
    const line = read('.nvmrc').trim();
    const images = [...read('Dockerfile').matchAll(/^FROM node:(\d+)-/gm)].map(([, number]) => number);
    expect(images).toEqual([line, line, line]);
    expect(check('18.20.0').message).toContain(`Install Node.js ${line} `);
    // CI runs other lines, too.
    const lines = /^LINES=\((.*)\)$/m.exec(read('.ci/node-lines'))?.[1]?.split(' ');
    expect(lines).toContain(line);
    expect(JSON.parse(read('package.json')).engines.node).toBe('^20.19.0 || >=22.12.0');
    expect(read('README.md')).toContain(`On a fresh machine with Node.js ${line} and nothing else:`);
    const others = 'Node.js 22 (from 22.12), 26 and 20 (from 20.19) run the service too';
    expect(read('README.md')).toContain(others);
  });

  it('start the service, at their first version and later', () => {
    for (const version of ['20.19.0', '22.12.0', '23.0.0', '24.0.0', '26.0.0'])
      expect([version, check(version)]).toEqual([version, { exit: undefined, message: '' }]);
  });

  it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])('%s: exits with one sentence', (version) => {
    const { exit, message } = check(version);
    expect(exit).toBe(1);
    expect(message).toMatch(/^Animal Store needs Node\.js .*\n$/);
    expect(message).toContain(`this is ${version}.`);
  });

  it('are those of the build, too', () => {
    const fake = `--import=data:text/javascript,Object.defineProperty(process.versions,'node',{value:'22.11.0'})`;
    const args = [fake, join(ROOT, 'scripts', 'build.mjs'), '--if-changed'];
    const { stderr } = spawnSync(process.execPath, args, { cwd: tmpdir(), encoding: 'utf8' });
    expect(stderr).toBe(check('22.11.0').message);
  });
});
