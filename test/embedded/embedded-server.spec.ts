import { chmodSync, existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { joinEmbedded, startEmbedded } from '../../src/embedded-postgres';
import { readPostmasterFile } from '../../src/embedded-postgres/postmaster-file';
import { processFacts } from '../../src/embedded-postgres/process-facts';
import { chooseServerUser } from '../../src/embedded-postgres/server-user';
import { prepareSocketDirectory } from '../../src/embedded-postgres/socket-directory';
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
import { itWhen } from '../support/it-when';

describe('the embedded server', () => {
  const folder = temporaryFolder();
  // Each of these characters has a meaning in a URL, in a list of folders or in a shell.
  const dataDir = join(folder, `my "data", 100%`);
  const cluster = join(dataDir, 'pg18');
  afterAll(cleanUp);

  it('keeps its rows after a stop and a start', async () => {
    const first = await startEmbedded(options(dataDir));
    await query(first.url(), 'create table kept as select 42 as n');
    await first.stop();
    const second = await startEmbedded(options(dataDir));
    const rows = await query(second.url(), 'select n from kept');
    await second.stop();
    expect(rows).toEqual([{ n: 42 }]);
    expect(second.notices).toEqual([]);
    expect(second.directory).toBe(dataDir);
  });

  it('is PostgreSQL 18 in UTF-8 and UTC, without a TCP port, accessible only to its own user', async () => {
    const server = await startEmbedded(options(dataDir));
    const show = ['server_version_num', 'server_encoding', 'timezone', 'listen_addresses', 'max_connections'];
    const [settings] = await query(
      server.url(),
      `select ${show.map((s) => `current_setting('${s}') as ${s}`).join()}`,
    );
    const socketMode = statSync(join(dataDir, '.s.PGSQL.5432')).mode & 0o777;
    await server.stop();
    expect(settings).toMatchObject({
      server_encoding: 'UTF8',
      timezone: 'UTC',
      listen_addresses: '',
      max_connections: '60',
    });
    expect(Number(settings.server_version_num)).toBeGreaterThanOrEqual(180_000);
    expect(socketMode).toBe(0o700);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  it('leaves no process, socket or lock after stop(); a second stop() does nothing', async () => {
    const server = await startEmbedded(options(dataDir));
    const { pid } = readPostmasterFile(cluster)!;
    await server.stop();
    await server.stop();
    expect(processFacts(pid)).toBeUndefined();
    expect(
      ['app.lock', '.s.PGSQL.5432', 'pg18/postmaster.pid'].filter((f) => existsSync(join(dataDir, f))),
    ).toEqual([]);
  });

  it('rejects a second start in the same process and in another, and names the owner', async () => {
    const server = await startEmbedded(options(dataDir));
    const here = await rejectionOf(startEmbedded(options(dataDir)));
    const there = await startChild().ask({ start: options(dataDir) });
    const rows = await query(server.url(), 'select 1 as alive');
    await server.stop();
    const sentence = `EmbeddedServerError: The data folder ${dataDir} is in use by process ${process.pid}: stop that process, or set DATA_DIR to another folder.`;
    expect([here, there.refusal, rows]).toEqual([sentence, sentence, [{ alive: 1 }]]);
  });

  it('can be joined by another process only while it runs', async () => {
    const before = await joinEmbedded(options(dataDir));
    const owner = startChild();
    await owner.ask({ start: options(dataDir) });
    const joined = await joinEmbedded(options(dataDir));
    const rows = await query(joined!.url('template1'), 'select current_database() as name');
    await owner.ask({ release: true });
    const after = await joinEmbedded(options(dataDir));
    expect([before, after]).toEqual([undefined, undefined]);
    expect(joined!.directory).toBe(dataDir);
    expect(rows).toEqual([{ name: 'template1' }]);
    expect(await joinEmbedded(options(join(folder, 'never-started')))).toBeUndefined();
    expect(existsSync(join(folder, 'never-started'))).toBe(false);
  });

  it('stops with its process, also after SIGKILL, and keeps every acknowledged row', async () => {
    const durableDir = join(folder, 'durable');
    const owner = startChild();
    const { url } = await owner.ask({ start: options(durableDir, { durable: true }) });
    await query(url!, 'create table counted (n int)');
    for (let n = 0; n < 20; n++) await query(url!, `insert into counted values (${n})`);
    const { pid } = readPostmasterFile(join(durableDir, 'pg18'))!;
    await owner.kill();
    await until(() => processFacts(pid) === undefined);
    const next = await startEmbedded(options(durableDir, { durable: true }));
    const rows = await query(
      next.url(),
      `select count(*)::int as n, current_setting('fsync') as fsync from counted`,
    );
    await next.stop();
    expect(rows).toEqual([{ n: 20, fsync: 'on' }]);
  });

  it('does not keep its process alive, and stops with it', async () => {
    const owner = startChild();
    await owner.ask({ start: options(dataDir) });
    const { pid } = readPostmasterFile(cluster)!;
    await owner.leave();
    await until(() => processFacts(pid) === undefined);
    expect(await joinEmbedded(options(dataDir))).toBeUndefined();
  });

  it('starts immediately after its process was killed, while the old server may still be stopping', async () => {
    const owner = startChild();
    await owner.ask({ start: options(dataDir) });
    await owner.kill();
    const next = await startEmbedded(options(dataDir));
    const rows = await query(next.url(), 'select n from kept');
    await next.stop();
    expect(rows).toEqual([{ n: 42 }]);
  });

  it('releases the lock if a later step fails', async () => {
    await rejectionOf(startEmbedded(options(dataDir, { binDir: join(folder, 'nowhere') })));
    expect(existsSync(join(dataDir, 'app.lock'))).toBe(false);
  });

  it('stops and starts again after PostgreSQL was killed', async () => {
    const server = await startEmbedded(options(dataDir));
    const { pid } = readPostmasterFile(cluster)!;
    process.kill(pid, 'SIGKILL');
    await until(() => processFacts(pid) === undefined);
    await server.stop();
    const next = await startEmbedded(options(dataDir));
    const rows = await query(next.url(), 'select n from kept');
    await next.stop();
    expect(rows).toEqual([{ n: 42 }]);
  });

  it("reports PostgreSQL's error if it does not start", async () => {
    const broken = join(folder, 'broken');
    mkdirSync(join(broken, 'pg18'), { recursive: true, mode: 0o700 });
    expect(await rejectionOf(startEmbedded(options(broken)))).toMatch(
      /^EmbeddedServerError: PostgreSQL did not start \(.+\): read .+postgres\.log, or set DATABASE_URL to another server\.$/,
    );
  });

  it('rejects data of another major version and leaves it unchanged', async () => {
    const old = join(folder, 'old');
    mkdirSync(join(old, 'pg17'), { recursive: true, mode: 0o700 });
    expect(await rejectionOf(startEmbedded(options(old)))).toMatch(
      /^EmbeddedServerError: The folder .+ holds data of PostgreSQL 17, which PostgreSQL 18 cannot read: set DATA_DIR .+\.$/,
    );
    expect(existsSync(join(old, 'app.lock'))).toBe(false);
  });

  it('works in a folder whose path is too long for a socket: stop() removes the private folder', async () => {
    // The limit counts bytes.
    const long = join(folder, 'ä'.repeat(40));
    const server = await startEmbedded(options(long));
    const joined = await joinEmbedded(options(long));
    const rows = await query(joined!.url(), 'select 1 as one');
    const socketFolder = new URL(server.url()).searchParams.get('host')!;
    const mode = statSync(socketFolder).mode & 0o777;
    await server.stop();
    expect(rows).toEqual([{ one: 1 }]);
    expect(mode).toBe(0o700);
    expect(existsSync(socketFolder)).toBe(false);
  });

  it("works if another user has created the socket folder's name, and never joins a folder that others can write", async () => {
    const long = join(folder, 'y'.repeat(120));
    const taken = prepareSocketDirectory(long, chooseServerUser());
    chmodSync(taken, 0o777);
    const server = await startEmbedded(options(long));
    const socketFolder = new URL((await joinEmbedded(options(long)))!.url()).searchParams.get('host')!;
    chmodSync(socketFolder, 0o777);
    const refusal = await rejectionOf(joinEmbedded(options(long)));
    await server.stop();
    rmdirSync(taken);
    expect(socketFolder).not.toBe(taken);
    expect(refusal).toMatch(
      /^EmbeddedServerError: The folder .+ belongs to another user: restart the service\.$/,
    );
  });

  itWhen(isRoot, 'needs root')('runs as another user if the service runs as root', async () => {
    const server = await startEmbedded(options(dataDir));
    const owner = statSync(cluster).uid;
    await server.stop();
    expect(owner).toBeGreaterThan(0);
  });
});
