import { chmodSync, existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { joinEmbedded, startEmbedded } from '../../src/database/embedded';
import { readPostmasterFile } from '../../src/database/embedded/postmaster-file';
import { processFacts } from '../../src/database/embedded/process-facts';
import { chooseServerUser } from '../../src/database/embedded/server-user';
import { prepareSocketDirectory } from '../../src/database/embedded/socket-directory';
import {
  cleanUp,
  isRoot,
  options,
  query,
  refusalOf,
  startChild,
  temporaryFolder,
  until,
} from './support/harness';
import { itWhen } from '../support/it-when';

describe('the embedded server', () => {
  const folder = temporaryFolder();
  // Each of these means something in a URL, in a list of folders or in a shell.
  const dataDir = join(folder, `my "data", 100%`);
  const cluster = join(dataDir, 'pg18');
  afterAll(cleanUp);

  it('keeps its rows over a stop and a start', async () => {
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

  it('is PostgreSQL 18 in UTF-8 and UTC, without a port, open to its own user only', async () => {
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

  it('leaves no process, socket or lock behind when it is stopped, and stopping twice does nothing', async () => {
    const server = await startEmbedded(options(dataDir));
    const { pid } = readPostmasterFile(cluster)!;
    await server.stop();
    await server.stop();
    expect(processFacts(pid)).toBeUndefined();
    expect(
      ['app.lock', '.s.PGSQL.5432', 'pg18/postmaster.pid'].filter((f) => existsSync(join(dataDir, f))),
    ).toEqual([]);
  });

  it('refuses a second start in the same process and in another, naming the process that has it', async () => {
    const server = await startEmbedded(options(dataDir));
    const here = await refusalOf(startEmbedded(options(dataDir)));
    const there = await startChild().ask({ start: options(dataDir) });
    const rows = await query(server.url(), 'select 1 as alive');
    await server.stop();
    const sentence = `EmbeddedServerError: The data folder ${dataDir} is in use by process ${process.pid}: stop that process, or set DATA_DIR to another folder.`;
    expect([here, there.refusal, rows]).toEqual([sentence, sentence, [{ alive: 1 }]]);
  });

  it('is joined by another process while it runs, and by none otherwise', async () => {
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

  it('ends with its process, even by SIGKILL, without losing an acknowledged row', async () => {
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

  it('neither keeps its process alive nor outlives it', async () => {
    const owner = startChild();
    await owner.ask({ start: options(dataDir) });
    const { pid } = readPostmasterFile(cluster)!;
    await owner.leave();
    await until(() => processFacts(pid) === undefined);
    expect(await joinEmbedded(options(dataDir))).toBeUndefined();
  });

  it('starts at once after its process was killed, while the old server may still be stopping', async () => {
    const owner = startChild();
    await owner.ask({ start: options(dataDir) });
    await owner.kill();
    const next = await startEmbedded(options(dataDir));
    const rows = await query(next.url(), 'select n from kept');
    await next.stop();
    expect(rows).toEqual([{ n: 42 }]);
  });

  it('gives the lock back when a later step fails', async () => {
    await refusalOf(startEmbedded(options(dataDir, { binDir: join(folder, 'nowhere') })));
    expect(existsSync(join(dataDir, 'app.lock'))).toBe(false);
  });

  it('survives that PostgreSQL dies by itself, and stops and starts again', async () => {
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

  it('says what PostgreSQL complained about when it does not start', async () => {
    const broken = join(folder, 'broken');
    mkdirSync(join(broken, 'pg18'), { recursive: true, mode: 0o700 });
    expect(await refusalOf(startEmbedded(options(broken)))).toMatch(
      /^EmbeddedServerError: PostgreSQL did not start \(.+\): read .+postgres\.log, or set DATABASE_URL to another server\.$/,
    );
  });

  it('refuses data of another major version, and touches none of it', async () => {
    const old = join(folder, 'old');
    mkdirSync(join(old, 'pg17'), { recursive: true, mode: 0o700 });
    expect(await refusalOf(startEmbedded(options(old)))).toMatch(
      /^EmbeddedServerError: The folder .+ holds data of PostgreSQL 17, which PostgreSQL 18 cannot read: set DATA_DIR .+\.$/,
    );
    expect(existsSync(join(old, 'app.lock'))).toBe(false);
  });

  it('works in a folder whose path is too long for a socket, by way of a private one that stop() removes', async () => {
    const long = join(folder, 'x'.repeat(120));
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

  it('works beside a socket folder whose name another user has taken, and refuses to join one that others can write', async () => {
    const long = join(folder, 'y'.repeat(120));
    const taken = prepareSocketDirectory(long, chooseServerUser());
    chmodSync(taken, 0o777);
    const server = await startEmbedded(options(long));
    const socketFolder = new URL((await joinEmbedded(options(long)))!.url()).searchParams.get('host')!;
    chmodSync(socketFolder, 0o777);
    const refusal = await refusalOf(joinEmbedded(options(long)));
    await server.stop();
    rmdirSync(taken);
    expect(socketFolder).not.toBe(taken);
    expect(refusal).toMatch(
      /^EmbeddedServerError: The folder .+ belongs to someone else: restart the service\.$/,
    );
  });

  itWhen(isRoot, 'needs root')('runs as another user when we are root', async () => {
    const server = await startEmbedded(options(dataDir));
    const owner = statSync(cluster).uid;
    await server.stop();
    expect(owner).toBeGreaterThan(0);
  });
});
