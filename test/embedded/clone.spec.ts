import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { itWhen } from '../support/it-when';
import { cleanUp, options, startChild, temporaryFolder } from './support/harness';

const ROOT = join(__dirname, '..', '..');
const WINDOWS = ['-c', 'core.autocrlf=true', '-c', 'core.eol=crlf'];
const NOT_ON_WINDOWS = /["*:<>?\\|]|[ .](\/|$)|(^|\/)(aux|con|nul|prn|com\d|lpt\d)(\.|\/|$)/i;

const git = (...args: string[]) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim();

describe('a clone by Git for Windows', () => {
  afterAll(cleanUp);

  itWhen(git('rev-parse', '--is-inside-work-tree') === 'true', 'needs git and a clone')(
    'has the line ends of Linux, so that its scripts and its PostgreSQL run, and names that Windows can have',
    async () => {
      const clone = join(temporaryFolder(tmpdir()), 'clone');
      execFileSync('git', [...WINDOWS, 'clone', '--quiet', ROOT, clone]);
      const entries = git('-C', clone, 'ls-files', '--stage').split('\n');
      const names = entries.map((entry) => entry.split('\t')[1]!);
      const textOf = (name: string) => readFileSync(join(clone, name), 'latin1');
      expect(names.filter((name) => textOf(name).includes('\r'))).toEqual([]);
      const scripts = names.filter((name) => name.endsWith('.sh') || textOf(name).startsWith('#!/'));
      const shell = scripts.filter((name) => !/^#!.*(node|python)/.test(textOf(name)));
      expect(shell).toContain('src/embedded-postgres/watchdog.sh');
      for (const name of shell) execFileSync('bash', ['-n', join(clone, name)]);

      symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
      // In an archive of another clone, the line ends may be those of Windows.
      const watchdog = join(clone, 'src/embedded-postgres/watchdog.sh');
      writeFileSync(watchdog, readFileSync(watchdog, 'utf8').replaceAll('\n', '\r\n'));
      const child = startChild(join(clone, 'src', 'embedded-postgres'));
      const started = await child.ask({ start: options(join(temporaryFolder(), 'data')) });
      expect(started).toEqual({ url: expect.any(String) });
      await child.ask({});

      expect(entries.filter((entry) => !/^100(644|755) /.test(entry))).toEqual([]);
      expect(names.filter((name) => NOT_ON_WINDOWS.test(name))).toEqual([]);
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    },
  );
});
