import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { readConfig } from '../../src/platform/config/config';
import { joinEmbedded, startEmbedded } from '../../src/embedded-postgres';
import { COPIES } from '../../src/embedded-postgres/binary-copy';
import { locateData, prepareData } from '../../src/embedded-postgres/data-directory';
import { chooseServerUser } from '../../src/embedded-postgres/server-user';
import { prepareSocketDirectory } from '../../src/embedded-postgres/socket-directory';
import { joinDatabase } from '../../src/platform/database/open-database';
import { cleanUp, isRoot, options, rejectionOf, temporaryFolder } from './support/harness';
import { itWhen } from '../support/it-when';

const asRoot = itWhen(isRoot, 'needs root');
const asOrdinaryUser = itWhen(!isRoot, 'needs an ordinary user');

afterAll(cleanUp);

describe('DATA_DIR', () => {
  const folder = temporaryFolder();

  it('is rejected if it is a file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(await rejectionOf(startEmbedded(options(file)))).toBe(
      `EmbeddedServerError: ${file} is not a folder: set DATA_DIR to a folder.`,
    );
    expect(await rejectionOf(startEmbedded(options(join(file, 'below'))))).toContain(
      'is not a folder: set DATA_DIR',
    );
  });

  it('is rejected by the start and by commands if its path has a line break', async () => {
    const broken = options(join(folder, 'two\nlines'));
    const sentence = `EmbeddedServerError: The path of the data folder "${folder}/two\\nlines" has a line break: set DATA_DIR to another folder.`;
    expect(await rejectionOf(startEmbedded(broken))).toBe(sentence);
    expect(await rejectionOf(joinEmbedded(broken))).toBe(sentence);
    expect(existsSync(broken.dataDir)).toBe(false);
  });

  it('is rejected and left unchanged if it holds other files', async () => {
    const home = join(folder, 'home');
    mkdirSync(home, { mode: 0o755 });
    writeFileSync(join(home, 'letter.txt'), '');
    const { uid } = statSync(home);
    expect(await rejectionOf(startEmbedded(options(home)))).toBe(
      `EmbeddedServerError: The folder ${home} holds other files: set DATA_DIR to a new or an empty folder.`,
    );
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
    prepareData({ directory: open, moved: false }, chooseServerUser());
    expect(statSync(open).mode & 0o777).toBe(0o700);
  });

  asOrdinaryUser('is rejected if it cannot be written', async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o555 });
    expect(await rejectionOf(startEmbedded(options(join(closed, 'data'))))).toContain(
      'cannot be read and written by this user: change its owner or mode, or set DATA_DIR to another folder.',
    );
  });

  asOrdinaryUser('is rejected if it belongs to another user', async () => {
    expect(await rejectionOf(startEmbedded(options('/')))).toMatch(
      /^EmbeddedServerError: The folder \/ .+ DATA_DIR to another folder\.$/,
    );
  });

  asRoot("is rejected if it is explicit and the server's user cannot reach it", async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const dataDir = join(closed, 'project', 'data');
    const { name } = chooseServerUser()!;
    expect(await rejectionOf(startEmbedded(options(dataDir)))).toContain(
      `The folder ${dataDir} cannot be reached by the user ${name}, which runs PostgreSQL in place of root: set DATA_DIR to `,
    );
    expect(existsSync(join(closed, 'project'))).toBe(false);
  });

  asRoot(
    "moves to a folder of the project in /var/lib if it is the default and the server's user cannot reach it",
    async () => {
      const closed = join(folder, 'closed-home');
      mkdirSync(closed, { mode: 0o700 });
      const systemRoot = join(folder, 'var', 'lib');
      const locate = (project: string) =>
        locateData(
          { dataDir: join(closed, project, '.data'), dataDirIsExplicit: false },
          chooseServerUser(),
          systemRoot,
        );
      const [one, again, other] = [await locate('one'), await locate('one'), await locate('other')];
      expect(one).toEqual(again);
      expect(one.moved).toBe(true);
      expect(one.directory.startsWith(`${systemRoot}/`)).toBe(true);
      expect(other.directory).not.toBe(one.directory);
      prepareData(one, chooseServerUser());
      expect(statSync(one.directory).uid).toBe(chooseServerUser()!.uid);
      chmodSync(systemRoot, 0o777);
      expect(() => prepareData(other, chooseServerUser())).toThrow(
        'must belong to root and be writable only by root',
      );
    },
  );

  asRoot('counts as the default if it is not set, also for a command', async () => {
    const closed = join(folder, 'closed-project');
    mkdirSync(closed, { mode: 0o700 });
    const before = process.cwd();
    process.chdir(closed);
    // The command accepts the folder, and ends before it starts a server in /var/lib.
    const command = joinDatabase({ ...readConfig({}), databasePoolSize: 51 });
    const refusal = await rejectionOf(command).finally(() => process.chdir(before));
    expect(refusal).toContain('DATABASE_POOL_SIZE must be at most 50');
  });

  asRoot('is rejected if it belongs to a third user', async () => {
    const theirs = join(folder, 'theirs');
    mkdirSync(theirs, { mode: 0o700 });
    chownSync(theirs, 12_345, 12_345);
    expect(await rejectionOf(startEmbedded(options(theirs)))).toContain(
      'belongs to another user or is writable by every user',
    );
    expect(statSync(theirs).uid).toBe(12_345);
  });
});

describe("the socket's folder of a long DATA_DIR", () => {
  const folder = temporaryFolder();
  const long = join(folder, 'x'.repeat(120));
  afterAll(cleanUp);

  it('is private and the same at every start', () => {
    const user = chooseServerUser();
    const own = prepareSocketDirectory(long, user, [folder]);
    expect(prepareSocketDirectory(long, user, [folder])).toBe(own);
    expect([statSync(own).mode & 0o777, statSync(own).uid]).toEqual([0o700, user?.uid ?? process.getuid?.()]);
  });

  it.each([
    ['others can write to it', (path: string) => mkdirSync(path), (path: string) => chmodSync(path, 0o777)],
    ['it is a link', (path: string) => symlinkSync(folder, path), () => undefined],
    ['it is a file', (path: string) => writeFileSync(path, ''), () => undefined],
  ])('has another name if %s', (what, take, open) => {
    const user = chooseServerUser();
    const other = join(long, what);
    const taken = prepareSocketDirectory(other, user, [folder]);
    rmdirSync(taken);
    take(taken);
    open(taken);
    const own = prepareSocketDirectory(other, user, [folder]);
    expect(own.startsWith(`${taken}-`)).toBe(true);
    expect([statSync(own).mode & 0o777, statSync(own).uid]).toEqual([0o700, user?.uid ?? process.getuid?.()]);
  });
});

asRoot("root's files outside DATA_DIR are in folders in which only root can create names", async () => {
  const user = chooseServerUser();
  const socketFolder = prepareSocketDirectory(join('/', 'x'.repeat(120)), user);
  rmdirSync(socketFolder);
  for (const parent of [dirname(socketFolder), COPIES]) {
    const { uid, mode } = statSync(parent);
    expect([parent, uid, mode & 0o022]).toEqual([parent, 0, 0]);
  }
});
