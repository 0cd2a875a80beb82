import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { V8_FLAGS } from '../src/platform/runtime/v8-flags';

const read = (file: string): string => readFileSync(join(__dirname, '..', file), 'utf8');

/** Returns the options of Node.js before `dist/main.js` in each command of a text. */
function optionsOf(text: string): string[] {
  const commands = text.matchAll(/\bnode[",]*((?: [^ \n]+)*?) "?dist\/main\.js/g);
  return [...commands].map(([, options = '']) => options.replaceAll(/[",]/g, '').trim());
}

describe('options of Node.js', () => {
  it('start scripts, image and systemd unit set the same size of the young generation', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const size = '--max-semi-space-size=32';
    expect(optionsOf(`${scripts['start']}\n${scripts['start:prod']}`)).toEqual([size, size]);
    expect(/ NODE_OPTIONS=(.*?) \\$/m.exec(read('Dockerfile'))?.[1]).toBe(size);
    expect(optionsOf(/^ExecStart=.*$/m.exec(read('deploy/systemd/animal-store.service'))?.[0] ?? '')).toEqual(
      [size],
    );
  });

  it.each(V8_FLAGS)('V8 of this Node.js knows %s', (flag) => {
    const script = `require('node:v8').setFlagsFromString(${JSON.stringify(flag)})`;
    const { status, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});
