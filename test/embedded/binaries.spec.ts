import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { startEmbedded } from '../../src/embedded-postgres';
import { findBinaries, findPackage } from '../../src/embedded-postgres/binaries';
import { copyBinaries } from '../../src/embedded-postgres/binary-copy';
import { run } from '../../src/embedded-postgres/command';
import { renewLinkFolder } from '../../src/embedded-postgres/libraries';
import { chooseServerUser } from '../../src/embedded-postgres/server-user';
import { cleanUp, options, rejectionOf, temporaryFolder } from './support/harness';
import { itWhen } from '../support/it-when';

const onLinux = itWhen(process.platform === 'linux', 'needs Linux');

async function versionOf(bin: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const command = { file: join(bin, 'postgres'), args: ['--version'], limitSeconds: 10 };
  return (await run({ ...command, user: chooseServerUser(), environment })).output;
}

function notFound(): never {
  throw new Error('Cannot find module');
}

describe("PostgreSQL's programs", () => {
  // Memory may be mounted so that no program runs from it.
  const folder = temporaryFolder(tmpdir());
  afterAll(cleanUp);

  /** Creates a bin folder whose programs run only this script. */
  const fakeBin = (name: string, script: string): string => {
    const bin = join(folder, name);
    mkdirSync(bin, { mode: 0o755 });
    for (const program of ['postgres', 'initdb', 'pg_ctl']) {
      writeFileSync(join(bin, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    return bin;
  };

  /** Takes the links away, as in the package that npm unpacks without install scripts. */
  const removeLinks = (root: string): void => {
    for (const entry of readdirSync(join(root, 'native', 'lib'), { withFileTypes: true })) {
      if (entry.isSymbolicLink()) rmSync(join(root, 'native', 'lib', entry.name));
    }
  };

  it('are missing on other platforms; the error names DATABASE_URL', () => {
    expect(() => findPackage('plan9', 'mips', notFound)).toThrow(
      'No embedded PostgreSQL is available for plan9-mips: set DATABASE_URL to a PostgreSQL 15 or newer server.',
    );
  });

  it('are rejected if the folder EMBEDDED_PG_BIN does not have them', async () => {
    const refusal = await rejectionOf(startEmbedded(options(join(folder, 'data'), { binDir: '/nowhere' })));
    expect(refusal).toBe(
      'EmbeddedServerError: The folder /nowhere has no program postgres, initdb, pg_ctl: set EMBEDDED_PG_BIN to the bin folder of a PostgreSQL 18 server, or leave it out.',
    );
  });

  it('are rejected if EMBEDDED_PG_BIN has another major version', async () => {
    const binDir = fakeBin('seventeen', 'echo "postgres (PostgreSQL) 17.6 (Debian)"');
    expect(await rejectionOf(findBinaries({ binDir, directory: folder, user: chooseServerUser() }))).toMatch(
      /^EmbeddedServerError: The server in .+seventeen is PostgreSQL 17: set EMBEDDED_PG_BIN .+\.$/,
    );
  });

  it('are rejected if those in EMBEDDED_PG_BIN do not run', async () => {
    const binDir = fakeBin('failing', 'echo "cannot open shared object file" >&2; exit 127');
    expect(await rejectionOf(findBinaries({ binDir, directory: folder, user: chooseServerUser() }))).toMatch(
      /failing cannot be run here \(cannot open shared object file\): set EMBEDDED_PG_BIN .+\.$/,
    );
  });

  it('are killed with their child processes if they exceed their time limit', async () => {
    // A surviving process would keep the output open, and the spec would time out.
    const bin = fakeBin('hanging', 'sleep 600 & wait');
    const outcome = await run({ file: join(bin, 'postgres'), args: [], user: undefined, limitSeconds: 0.2 });
    expect(outcome).toEqual({ ok: false, output: '\nended after 0.2 seconds' });
  });

  // On macOS the package is always copied.
  onLinux(
    'are copied to DATA_DIR if LD_LIBRARY_PATH cannot hold its path, else found through links in it',
    async () => {
      const directory = join(folder, 'a:b');
      mkdirSync(directory, { mode: 0o755 });
      // The user of this process, which reaches the package wherever the project is.
      const request = { binDir: undefined, user: undefined };
      const { bin, environment } = await findBinaries({ ...request, directory });
      expect(bin).toContain(`${directory}/animal-store-postgres-`);
      expect([environment, await versionOf(bin, {})]).toEqual([{}, expect.stringContaining(' 18.')]);

      const [dataDir, moved] = [join(folder, 'linked'), join(folder, 'moved')];
      mkdirSync(dataDir, { mode: 0o755 });
      const first = await findBinaries({ ...request, directory: dataDir });
      renameSync(dataDir, moved);
      const second = await findBinaries({ ...request, directory: moved });
      expect([first.environment['LD_LIBRARY_PATH'], second.environment['LD_LIBRARY_PATH']]).toEqual([
        expect.stringContaining(`${dataDir}/`),
        expect.stringContaining(`${moved}/`),
      ]);
      const root = join(bin, '..', '..');
      removeLinks(root);
      expect(await versionOf(bin, {})).toContain('cannot open');
      const files = readdirSync(root, { recursive: true });
      const searchPath = renewLinkFolder(root, join(moved, 'postgres-lib'), chooseServerUser());
      expect(await versionOf(bin, { LD_LIBRARY_PATH: searchPath })).toContain(' 18.');
      expect(readdirSync(root, { recursive: true })).toEqual(files);
    },
  );

  it('are copied once, and again if a file of the copy is missing; a copy of another user is not run', () => {
    const [root, parent] = [join(folder, 'small'), join(folder, 'copies')];
    for (const name of ['bin', 'lib', 'share']) mkdirSync(join(root, 'native', name), { recursive: true });
    for (const name of ['package.json', 'native/share/postgres.bki']) writeFileSync(join(root, name), '{}');
    mkdirSync(parent, { mode: 0o755 });
    const copy = copyBinaries(root, parent);
    const [lost, marker] = [join(copy, 'native', 'share', 'postgres.bki'), join(copy, 'marker')];
    writeFileSync(marker, '');
    expect(copyBinaries(root, parent)).toBe(copy);
    expect(existsSync(marker)).toBe(true);
    rmSync(lost);
    expect(copyBinaries(root, parent)).toBe(copy);
    expect(existsSync(lost)).toBe(true);
    expect(readdirSync(parent)).toEqual([basename(copy)]);
    rmSync(copy, { recursive: true });
    symlinkSync(folder, copy);
    expect(() => copyBinaries(root, parent)).toThrow(
      'belongs to another user: remove it, or set DATABASE_URL.',
    );
  });
});
