import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded } from '../../src/database/embedded';
import { findBinaries, findPackage } from '../../src/database/embedded/binaries';
import { copyBinaries } from '../../src/database/embedded/binary-copy';
import { run } from '../../src/database/embedded/command';
import { linkFolder, linkLibraries } from '../../src/database/embedded/libraries';
import { chooseServerUser } from '../../src/database/embedded/server-user';
import { cleanUp, options, refusalOf, temporaryFolder } from './support/harness';
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
  const folder = temporaryFolder();
  afterAll(cleanUp);

  /** A bin folder whose server only answers --version. */
  const fakeBin = (name: string, script: string): string => {
    const bin = join(folder, name);
    mkdirSync(bin, { mode: 0o755 });
    for (const program of ['postgres', 'initdb', 'pg_ctl']) {
      writeFileSync(join(bin, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    return bin;
  };

  /** The package as npm unpacks it with its scripts switched off: without links. */
  const unlinkedPackage = (name: string): string => {
    const root = join(folder, name);
    cpSync(findPackage(), root, { recursive: true, verbatimSymlinks: true });
    for (const entry of readdirSync(join(root, 'native', 'lib'), { withFileTypes: true })) {
      if (entry.isSymbolicLink()) rmSync(join(root, 'native', 'lib', entry.name));
    }
    return root;
  };

  it('are missing on other platforms, which is said in one sentence that names DATABASE_URL', () => {
    expect(() => findPackage('plan9', 'mips', notFound)).toThrow(
      'No embedded PostgreSQL is available for plan9-mips: set DATABASE_URL to a PostgreSQL 15 or newer server.',
    );
  });

  it('are refused when EMBEDDED_PG_BIN names no folder of them', async () => {
    const refusal = await refusalOf(startEmbedded(options(join(folder, 'data'), { binDir: '/nowhere' })));
    expect(refusal).toBe(
      'EmbeddedServerError: The folder /nowhere has no program postgres, initdb, pg_ctl: set EMBEDDED_PG_BIN to the bin folder of a PostgreSQL 18 server, or leave it out.',
    );
  });

  it('are refused when EMBEDDED_PG_BIN is another major version', async () => {
    const binDir = fakeBin('seventeen', 'echo "postgres (PostgreSQL) 17.6 (Debian)"');
    expect(await refusalOf(findBinaries({ binDir, directory: folder, user: chooseServerUser() }))).toMatch(
      /^EmbeddedServerError: The server in .+seventeen is PostgreSQL 17: set EMBEDDED_PG_BIN .+\.$/,
    );
  });

  it('are refused when EMBEDDED_PG_BIN cannot be run', async () => {
    const binDir = fakeBin('failing', 'echo "cannot open shared object file" >&2; exit 127');
    expect(await refusalOf(findBinaries({ binDir, directory: folder, user: chooseServerUser() }))).toMatch(
      /failing cannot be run here \(cannot open shared object file\): set EMBEDDED_PG_BIN .+\.$/,
    );
  });

  it('are ended when they exceed their time limit, with all that they started', async () => {
    // A process that survives keeps the output open, and the spec times out.
    const bin = fakeBin('hanging', 'sleep 600 & wait');
    const outcome = await run({ file: join(bin, 'postgres'), args: [], user: undefined, limitSeconds: 0.2 });
    expect(outcome).toEqual({ ok: false, output: '\nended after 0.2 seconds' });
  });

  // On macOS the search path is another variable, and the read-only package is copied instead.
  onLinux(
    'find their libraries by links that we make, or by a folder of links where the package is read-only',
    async () => {
      const root = unlinkedPackage('package');
      const bin = join(root, 'native', 'bin');
      const searchPath = linkFolder(root, join(folder, 'lib'));
      const unlinked = await versionOf(bin, {});
      const byFolder = await versionOf(bin, { LD_LIBRARY_PATH: searchPath });
      const linked = linkLibraries(root);
      const again = linkLibraries(root);
      expect([linked, again]).toEqual([true, true]);
      expect([unlinked, byFolder]).toEqual([
        expect.stringContaining('cannot open'),
        expect.stringContaining(' 18.'),
      ]);
      expect(await versionOf(bin, {})).toContain(' 18.');
    },
  );

  it('are copied once for a user who cannot reach the package, and again when the copy lost a file', async () => {
    const copies = join(folder, 'copies');
    mkdirSync(copies, { mode: 0o755 });
    const copy = copyBinaries(findPackage(), copies);
    expect(await versionOf(join(copy, 'native', 'bin'), {})).toContain(' 18.');
    const lost = join(copy, 'native', 'share', 'postgresql', 'postgres.bki');
    const marker = join(copy, 'marker');
    writeFileSync(marker, '');
    expect(copyBinaries(findPackage(), copies)).toBe(copy);
    expect(existsSync(marker)).toBe(true);
    rmSync(lost);
    expect(copyBinaries(findPackage(), copies)).toBe(copy);
    expect(existsSync(lost)).toBe(true);
    expect(readdirSync(copies)).toHaveLength(1);
  });

  it('are not run from a copy that somebody else prepared', () => {
    const copies = join(folder, 'prepared');
    mkdirSync(copies, { mode: 0o755 });
    const copy = copyBinaries(findPackage(), copies);
    rmSync(copy, { recursive: true });
    symlinkSync(folder, copy);
    expect(() => copyBinaries(findPackage(), copies)).toThrow(
      'belongs to someone else: remove it, or set DATABASE_URL.',
    );
  });
});
