import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded } from '../../src/embedded-postgres';
import { prepareFolder } from '../../src/embedded-postgres/data-folder';
import { chooseServerUser } from '../../src/embedded-postgres/programs';
import { itWhen } from '../support/it-when';
import { cleanUp, isRoot, options, rejectionOf, temporaryFolder } from './support/harness';

const asRoot = itWhen(isRoot, 'needs root');

const folder = temporaryFolder();
afterAll(cleanUp);

const foreign = (path: string) =>
  `Error: The folder ${path} belongs to another user or holds other files: start the service as its owner, or set DATA_DIR to a new or an empty folder.`;

describe('DATA_DIR', () => {
  it('is rejected if it is a file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'below')]) {
      expect(await rejectionOf(startEmbedded(options(path)))).toMatch(
        /^Error: The folder .+ cannot be used \((EEXIST|ENOTDIR): .+\): correct that, or set DATA_DIR to another folder\.$/,
      );
    }
  });

  it('is rejected and left unchanged if it holds other files', async () => {
    const home = join(folder, 'home');
    mkdirSync(home, { mode: 0o755 });
    writeFileSync(join(home, 'letter.txt'), '');
    const { uid } = statSync(home);
    expect(await rejectionOf(startEmbedded(options(home)))).toBe(foreign(home));
    expect([statSync(home).uid, statSync(home).mode & 0o777]).toEqual([uid, 0o755]);
  });

  it.each([
    ['is empty', []],
    ["holds PostgreSQL's files and others", ['postgres.log', 'notes.txt']],
  ])('becomes private if it %s', (what, names) => {
    const open = join(folder, what);
    mkdirSync(open);
    chmodSync(open, 0o777);
    for (const name of names) writeFileSync(join(open, name), '');
    prepareFolder(open, chooseServerUser());
    expect(statSync(open).mode & 0o777).toBe(0o700);
  });

  asRoot('is rejected if it belongs to a third user', async () => {
    const theirs = join(folder, 'theirs');
    mkdirSync(theirs, { mode: 0o700 });
    chownSync(theirs, 12_345, 12_345);
    expect(await rejectionOf(startEmbedded(options(theirs)))).toBe(foreign(theirs));
    expect(statSync(theirs).uid).toBe(12_345);
  });

  asRoot("is rejected if the server's user cannot reach it", async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    expect(await rejectionOf(startEmbedded(options(join(closed, 'data'))))).toMatch(
      /^Error: PostgreSQL could not create its files in .+ \(.+: Permission denied\): fix that, set DATA_DIR to another folder, or set DATABASE_URL\.$/,
    );
  });
});
