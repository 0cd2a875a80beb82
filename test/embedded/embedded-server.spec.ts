/** @jest-environment-options {"ownSources": true} */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedServer, joinEmbedded, startEmbedded } from '../../src/embedded-postgres';
import { findBinaries } from '../../src/embedded-postgres/binaries';
import { childEnvironment, spawnAs } from '../../src/embedded-postgres/command';
import { readPostmasterFile } from '../../src/embedded-postgres/postmaster-file';
import { processFacts } from '../../src/embedded-postgres/process-facts';
import { chooseServerUser, type ServerUser } from '../../src/embedded-postgres/server-user';
import { prepareSocketDirectory } from '../../src/embedded-postgres/socket-directory';
import { itWhen } from '../support/it-when';
import {
  cleanUp,
  isRoot,
  options,
  query,
  rejectionOf,
  startChild,
  temporaryFolder,
  until,
} from './support/harness';

/** The user of a machine without a user postgres; undefined for the user of this machine. */
let mockUser: ServerUser | undefined;
jest.mock('../../src/embedded-postgres/server-user', () => {
  const actual = jest.requireActual<typeof import('../../src/embedded-postgres/server-user')>(
    '../../src/embedded-postgres/server-user',
  );
  return { ...actual, chooseServerUser: () => mockUser ?? actual.chooseServerUser() };
});

const NOBODY = { name: 'nobody', uid: 65_534, gid: 65_534 };

const asRoot = itWhen(isRoot, 'needs root');
const folder = temporaryFolder();
// Each of these characters has a meaning in a URL, in a list of folders or in a shell.
const dataDir = join(folder, `my "data", 100%`);
const cluster = join(dataDir, 'pg18');
afterAll(cleanUp);

const rowsOf = (server: EmbeddedServer) => query(server.url(), 'select n from kept');
/** Starts the server and stops it. */
const startAndRead = async (): Promise<unknown[]> => {
  const server = await startEmbedded(options(dataDir));
  const rows = await rowsOf(server);
  await server.stop();
  return rows;
};
const endedPid = () => spawnSync(process.execPath, ['-e', '']).pid;
const isLeft = () =>
  ['app.lock', '.s.PGSQL.5432', 'pg18/postmaster.pid'].filter((name) => existsSync(join(dataDir, name)));

// Each test continues with the data folder as the test before has left it: a new one takes a second.
describe('the embedded server', () => {
  it('is PostgreSQL 18 in UTF-8 and UTC, without a TCP port, accessible only to its own user', async () => {
    expect(await joinEmbedded(options(dataDir))).toBeUndefined();
    expect(existsSync(dataDir)).toBe(false);
    const server = await startEmbedded(options(dataDir));
    await query(server.url(), 'create table kept as select 42 as n');
    const show = ['server_version_num', 'server_encoding', 'timezone', 'listen_addresses', 'max_connections'];
    const names = show.map((name) => `current_setting('${name}') as ${name}`);
    const [settings] = await query(
      server.url(),
      `select ${names.join()}, current_setting('is_superuser') as super`,
    );
    const socket = statSync(join(dataDir, '.s.PGSQL.5432'));
    const { pid } = readPostmasterFile(cluster)!;
    const refusal = await rejectionOf(query(server.url(), `copy (select 1) to program 'cat'`));
    await server.stop();
    await server.stop();
    expect(settings).toMatchObject({
      server_encoding: 'UTF8',
      timezone: 'UTC',
      listen_addresses: '',
      max_connections: '60',
      super: 'off',
    });
    expect(Number(settings.server_version_num)).toBeGreaterThanOrEqual(180_000);
    expect([socket.mode & 0o777, statSync(dataDir).mode & 0o777]).toEqual([0o700, 0o700]);
    expect(statSync(cluster).uid).toBe(chooseServerUser()?.uid ?? process.getuid?.());
    expect(refusal).toContain('permission denied');
    expect([server.directory, server.notices]).toEqual([dataDir, []]);
    // Nothing is left after stop().
    expect([processFacts(pid), isLeft()]).toEqual([undefined, []]);
  });

  it('keeps its rows; rejects a second start in the same process and in another, and names the owner', async () => {
    const server = await startEmbedded(options(dataDir));
    const here = await rejectionOf(startEmbedded(options(dataDir)));
    const child = startChild();
    const there = await child.ask({ start: options(dataDir) });
    const rows = await rowsOf(server);
    await server.stop();
    const sentence = `EmbeddedServerError: The data folder ${dataDir} is in use by process ${process.pid}: stop that process, or set DATA_DIR to another folder.`;
    expect([here, there.refusal, rows]).toEqual([sentence, sentence, [{ n: 42 }]]);

    // Other processes can join it while it runs. It stops with its process, which it does not keep alive.
    await child.ask({ start: options(dataDir) });
    const joined = await joinEmbedded(options(dataDir));
    const [database] = await query(joined!.url('template1'), 'select current_database() as name');
    expect([joined!.directory, database]).toEqual([dataDir, { name: 'template1' }]);
    const { pid } = readPostmasterFile(cluster)!;
    await child.leave();
    await until(() => processFacts(pid) === undefined);
    expect(await joinEmbedded(options(dataDir))).toBeUndefined();
  });

  it('stops if its process is killed, keeps every acknowledged row, and can be started immediately', async () => {
    const durable = options(dataDir, { durable: true });
    const owner = startChild();
    const { url } = await owner.ask({ start: durable });
    for (let n = 0; n < 20; n++) await query(url!, `insert into kept values (${n})`);
    const { pid } = readPostmasterFile(cluster)!;
    await owner.kill();
    const next = await startEmbedded(durable);
    const [row] = await query(
      next.url(),
      `select count(*)::int, current_setting('fsync') as fsync from kept`,
    );
    await query(next.url(), 'delete from kept where n < 42');
    await next.stop();
    expect([row, processFacts(pid)]).toEqual([{ count: 21, fsync: 'on' }, undefined]);
  });

  it('stops and starts again after PostgreSQL was killed', async () => {
    const server = await startEmbedded(options(dataDir));
    const { pid } = readPostmasterFile(cluster)!;
    process.kill(pid, 'SIGKILL');
    await until(() => processFacts(pid) === undefined);
    await server.stop();
    expect(await startAndRead()).toEqual([{ n: 42 }]);
  });

  it("releases the lock if a later step fails, and reports PostgreSQL's error", async () => {
    await rejectionOf(startEmbedded(options(dataDir, { binDir: join(folder, 'nowhere') })));
    expect(isLeft()).toEqual([]);
    const broken = join(folder, 'broken');
    mkdirSync(join(broken, 'pg18'), { recursive: true, mode: 0o700 });
    expect(await rejectionOf(startEmbedded(options(broken)))).toMatch(
      /^EmbeddedServerError: PostgreSQL did not start \(.+\): read .+postgres\.log, or set DATABASE_URL to another server\.$/,
    );
    const old = join(folder, 'old');
    mkdirSync(join(old, 'pg17'), { recursive: true, mode: 0o700 });
    expect(await rejectionOf(startEmbedded(options(old)))).toMatch(
      /^EmbeddedServerError: The folder .+ holds data of PostgreSQL 17, which PostgreSQL 18 cannot read: set DATA_DIR .+\.$/,
    );
    expect(existsSync(join(old, 'app.lock'))).toBe(false);
  });
});

describe('the postmaster.pid of an earlier run', () => {
  const pidFile = join(cluster, 'postmaster.pid');
  const leavePidFile = (pid: number, startedAt: Date): void =>
    writeFileSync(
      pidFile,
      `${pid}\n${cluster}\n${Math.floor(startedAt.getTime() / 1000)}\n5432\n${dataDir}\n\n  123456  0\nready   \n`,
    );

  it('is ignored if a process that started later has its pid', async () => {
    // PostgreSQL ignores pids of other users, so the process runs as the server's user.
    const other = spawn('/bin/sleep', ['60'], { ...spawnAs(chooseServerUser()), stdio: 'ignore' });
    leavePidFile(other.pid!, new Date('2020-01-01'));
    try {
      expect(await joinEmbedded(options(dataDir))).toBeUndefined();
      expect(await startAndRead()).toEqual([{ n: 42 }]);
    } finally {
      other.kill();
    }
  });

  it('is rejected and kept if it names an older process that is not this server', async () => {
    leavePidFile(process.pid, new Date());
    const refusal = await rejectionOf(startEmbedded(options(dataDir)));
    expect(refusal).toContain(`names process ${process.pid} (`);
    expect(refusal).toContain(
      ", which is not this database's server: stop that process, or set DATA_DIR to another folder.",
    );
    expect(readFileSync(pidFile, 'utf8')).toContain(`${process.pid}\n`);
    expect(existsSync(join(dataDir, 'app.lock'))).toBe(false);
  });

  it('is ignored if its process has ended; a server whose service has ended is stopped', async () => {
    leavePidFile(endedPid(), new Date());
    const user = chooseServerUser();
    const { bin, environment } = await findBinaries({ binDir: undefined, directory: dataDir, user });
    // The path is a list: without quotes, its comma would separate two folders.
    const args = ['-D', cluster, '-k', `"${dataDir.replaceAll('"', '""')}"`, '-c', 'listen_addresses='];
    const env = { ...childEnvironment, ...environment };
    const orphan = spawn(join(bin, 'postgres'), args, { ...spawnAs(user), env, stdio: 'ignore' });
    orphan.unref();
    await until(
      () => readPostmasterFile(cluster)?.pid === orphan.pid && readPostmasterFile(cluster)?.ready === true,
    );
    expect(await startAndRead()).toEqual([{ n: 42 }]);
    await until(() => processFacts(orphan.pid!) === undefined);
  });
});

describe('the embedded server in another place', () => {
  it('works if the path is too long for a socket and another user has the name of the private folder', async () => {
    // The limit counts bytes.
    const long = join(folder, 'ä'.repeat(40));
    renameSync(dataDir, long);
    const taken = prepareSocketDirectory(long, chooseServerUser());
    chmodSync(taken, 0o777);
    const server = await startEmbedded(options(long));
    const joined = await joinEmbedded(options(long));
    const rows = await query(joined!.url(), 'select n from kept');
    const socketFolder = new URL(server.url()).searchParams.get('host')!;
    const { mode } = statSync(socketFolder);
    chmodSync(socketFolder, 0o777);
    const refusal = await rejectionOf(joinEmbedded(options(long)));
    chmodSync(socketFolder, 0o700);
    await server.stop();
    execFileSync('rmdir', [taken]);
    renameSync(long, dataDir);
    expect([rows, mode & 0o777, existsSync(socketFolder)]).toEqual([[{ n: 42 }], 0o700, false]);
    expect(socketFolder).not.toBe(taken);
    expect(refusal).toMatch(
      /^EmbeddedServerError: The folder .+ belongs to another user: restart the service\.$/,
    );
  });

  asRoot('warns if other programs run as its user too, and is rejected if that is not allowed', async () => {
    mockUser = NOBODY;
    const production = options(join(folder, 'production'), { allowSharedUser: false });
    expect(await rejectionOf(startEmbedded(production))).toMatch(
      /^EmbeddedServerError: In production PostgreSQL does not run as the user nobody, .+: create a user postgres, .+\.$/,
    );
    expect(existsSync(production.dataDir)).toBe(false);
    execFileSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, dataDir]);
    const server = await startEmbedded(options(dataDir));
    await server.stop();
    expect(server.notices).toEqual([
      'PostgreSQL runs as the user nobody. Other programs run as this user too and can read its data: create a user postgres, or start the service as an ordinary user.',
    ]);
  });
});
