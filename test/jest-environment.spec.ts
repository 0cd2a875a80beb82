import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '..');

/** Two spec files that one worker runs in this order. */
const FILES = {
  'a.spec.js': `it('passes', () => undefined);`,
  'b.spec.js': `
    it('has a rejection without a handler', async () => {
      void Promise.reject(new Error('lost'));
      await new Promise((resolve) => setTimeout(resolve, 50));
    });`,
  'sequencer.js': `
    const { default: Sequencer } = require(${JSON.stringify(join(ROOT, 'node_modules', '@jest', 'test-sequencer'))});
    module.exports = class extends Sequencer {
      sort(tests) { return [...tests].sort((one, other) => (one.path < other.path ? -1 : 1)); }
    };`,
  'jest.config.js': `
    const { projects } = require(${JSON.stringify(join(ROOT, 'jest.config.js'))});
    const ours = projects.find((project) => project.displayName === 'demo');
    const root = ${JSON.stringify(ROOT)};
    module.exports = {
      ...JSON.parse(JSON.stringify(ours).replaceAll('<rootDir>', root)),
      rootDir: root,
      roots: [__dirname],
      testMatch: ['**/*.spec.js'],
      testSequencer: __dirname + '/sequencer.js',
    };`,
};

describe('the environment of the specs', () => {
  it('reports an unhandled rejection in a file that is not the first of its worker', () => {
    const folder = mkdtempSync(join(tmpdir(), 'animal-store-jest-'));
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
    const jest = join(ROOT, 'node_modules', '.bin', 'jest');
    const args = [jest, '--runInBand', '--config', join(folder, 'jest.config.js')];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect(stderr).toContain('● has a rejection without a handler');
    expect(status).toBe(1);
  });
});
