/** @jest-environment-options {"ownSources": true} */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedServer, startEmbedded } from '../../src/embedded-postgres';
import { chooseServerUser } from '../../src/embedded-postgres/programs';
import { isRunning } from '../support/is-running';
import { itWhen } from '../support/it-when';
import { until } from '../support/until';
import {
  cleanUp,
  isRoot,
  killChildren,
  options,
  query,
  rejectionOf,
  startChild,
  temporaryFolder,
} from './support/harness';

/** The file of users of another machine; undefined for this machine. */
let mockUsers: string | undefined;
jest.mock('node:fs', () => {
  const actual = jest.requireActual<typeof import('node:fs')>('node:fs');
  const read: typeof actual.readFileSync = (path: any, encoding?: any) =>
    (path === '/etc/passwd' && mockUsers) || (actual.readFileSync(path, encoding) as any);
  return { ...actual, readFileSync: read };
});

const asRoot = itWhen(isRoot, 'needs root');
const folder = temporaryFolder();
// Each of these characters has a meaning in a URL, in a list of folders or in a shell.
const dataDir = join(folder, `my "data" 100%`);
const cluster = join(dataDir, 'pg18');
const pidFile = join(cluster, 'postmaster.pid');
const starts: Promise<EmbeddedServer>[] = [];
/** Starts a server that the end of the test stops. */
const start = (given = options(dataDir)): Promise<EmbeddedServer> => {
  const starting = startEmbedded(given);
  starts.push(starting);
  return starting;
};
let firstStarts: Awaited<ReturnType<ReturnType<typeof startChild>['ask']>>[];
let firstOwner: number;
// A new data folder takes a second, so each test leaves this one stopped, with its row.
beforeAll(async () => {
  const children = [startChild(), startChild()];
  firstStarts = await Promise.all(children.map((child) => child.ask({ start: options(dataDir) })));
  const winner = firstStarts.findIndex(({ url }) => url !== undefined);
  firstOwner = children[winner]!.pid;
  await query(firstStarts[winner]!.url!, 'create table kept as select 42 as n');
  await children[winner]!.ask({});
  await stopAll();
});
afterEach(async () => {
  jest.restoreAllMocks();
  mockUsers = undefined;
  await stopAll();
});
afterAll(cleanUp);

const stopAll = async () => {
  await killChildren();
  await Promise.allSettled(starts.splice(0).map(async (starting) => (await starting).stop()));
};
const command = options(dataDir, { purpose: 'command' });
const postmaster = () => Number.parseInt(readFileSync(pidFile, 'utf8'), 10);
const rowsOf = (server: Pick<EmbeddedServer, 'url'>) => query(server.url(), 'select n from kept');
const inUse = (directory: string, pid: number) =>
  `Error: The data folder ${directory} is in use by process ${pid}: stop that process, or set DATA_DIR to another folder.`;

describe('the embedded server', () => {
  it('is PostgreSQL 18 in UTF-8 and UTC without a TCP port, for any variables of libpq and node-postgres', async () => {
    const names =
      'PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGPASSWORD PGSERVICE PGSERVICEFILE PGPASSFILE PGDATA';
    const broken = Object.fromEntries(names.split(' ').map((name) => [name, 'none']));
    jest.replaceProperty(process, 'env', {
      ...process.env,
      ...broken,
      PGOPTIONS: '-c default_transaction_read_only=on -c search_path=none',
      PGSSLMODE: 'verify-full',
      PGSSLROOTCERT: '/none',
      PGSSLCERT: '/none',
      PGSSLNEGOTIATION: 'direct',
      PGREPLICATION: 'database',
      PGAPPNAME: 'none',
      PGCLIENTENCODING: 'LATIN1',
      PGCLIENT_ENCODING: 'LATIN1',
      PGTZ: 'Asia/Tokyo',
      PGDATESTYLE: 'German',
      PGTARGETSESSIONATTRS: 'standby',
      LC_ALL: 'tr_TR.UTF-8',
      LANG: 'tr_TR.UTF-8',
      TZ: 'Asia/Tokyo',
    });
    const server = await start();
    const expected = {
      server_encoding: 'UTF8',
      listen_addresses: '',
      max_connections: '60',
      search_path: '"$user", public',
      DateStyle: 'ISO, MDY',
      TimeZone: 'UTC',
      client_encoding: 'UTF8',
      lc_messages: 'C',
      application_name: 'animal-store',
      default_transaction_read_only: 'off',
      is_superuser: 'off',
    };
    const show = [...Object.keys(expected), 'server_version_num'];
    const select = `select ${show.map((name) => `current_setting('${name}') as "${name}"`).join()}`;
    const [{ server_version_num: version, ...settings }] = await query(server.url(), select);
    expect(settings).toEqual(expected);
    expect(Number(version)).toBeGreaterThanOrEqual(180_000);
  });

  it('accepts one role, which owns the database and is not a superuser; only its own user can reach the files', async () => {
    const server = await start();
    const [row] = await query(
      server.url(),
      `select current_user as name, datdba::regrole::text as owner from pg_database where datname = 'postgres'`,
    );
    expect(row).toEqual({ name: 'app', owner: 'app' });
    for (const forbidden of ["copy (select 1) to program 'cat'", 'set role postgres'])
      expect(await rejectionOf(query(server.url(), forbidden))).toContain('permission denied');
    const other = server.url().replace('app@', 'postgres@');
    expect(await rejectionOf(query(other, 'select 1'))).toContain('no pg_hba.conf entry');
    const socket = join(dataDir, '.s.PGSQL.5432');
    expect([statSync(socket).mode & 0o777, statSync(dataDir).mode & 0o777]).toEqual([0o700, 0o700]);
    expect(statSync(cluster).uid).toBe(chooseServerUser()?.uid ?? process.getuid?.());
    expect(server.directory).toBe(dataDir);
    const pid = postmaster();
    await server.stop();
    await server.stop();
    // Nothing is left after stop().
    expect([isRunning(pid), existsSync(pidFile), existsSync(socket)]).toEqual([false, false, false]);
  });

  it('keeps its rows; rejects a second start in the same process and in another, and names the owner', async () => {
    const server = await start();
    const here = await rejectionOf(startEmbedded(options(dataDir)));
    const child = startChild();
    const there = await child.ask({ start: options(dataDir) });
    const rows = await rowsOf(server);
    await server.stop();
    const sentence = inUse(dataDir, process.pid);
    expect([here, there.refusal, rows]).toEqual([sentence, sentence, [{ n: 42 }]]);

    // Commands share it while it runs. It stops with its process, which it does not keep alive.
    await child.ask({ start: options(dataDir) });
    const joined = await startEmbedded(command);
    await joined.stop();
    const [database] = await query(joined.url('template1'), 'select current_database() as name');
    expect([joined.directory, database]).toEqual([dataDir, { name: 'template1' }]);
    const pid = postmaster();
    await child.leave();
    await until(() => !isRunning(pid));
  });

  it('of a command is not shared: a service starts when the command has ended', async () => {
    const child = startChild();
    await child.ask({ start: command });
    // After its first look it waits longer than for a service.
    jest.spyOn(Date, 'now').mockReturnValue(2_000).mockReturnValueOnce(0);
    const service = start();
    // A shared server would stop with its command.
    await child.ask({});
    expect(await rowsOf(await service)).toEqual([{ n: 42 }]);
  });

  it('stops if its process is killed, keeps every acknowledged row, and can be started immediately', async () => {
    const durable = options(dataDir, { durable: true });
    const owner = startChild();
    const { url } = await owner.ask({ start: durable });
    await query(url!, 'create table acknowledged (n int)');
    for (let n = 0; n < 20; n++) await query(url!, `insert into acknowledged values (${n})`);
    const pid = postmaster();
    await owner.kill();
    const next = await start(durable);
    const counted = `select count(*)::int, current_setting('fsync') as fsync from acknowledged`;
    expect(await query(next.url(), counted)).toEqual([{ count: 20, fsync: 'on' }]);
    await until(() => !isRunning(pid));
  });

  it('starts if another process has the pid in the postmaster.pid of a killed server', async () => {
    // PostgreSQL ignores pids of other users, so the process runs as the server's user.
    const { uid, gid } = chooseServerUser() ?? {};
    const other = spawn('/bin/sleep', ['60'], { ...(uid && { uid, gid }), stdio: 'ignore' });
    const lines = [other.pid, cluster, 1_577_836_800, 5432, dataDir, '', '  123456  0', 'ready   ', ''];
    writeFileSync(pidFile, lines.join('\n'));
    try {
      expect(await rowsOf(await start())).toEqual([{ n: 42 }]);
    } finally {
      other.kill();
    }
  });

  it('starts after another start whose lock file is still empty', async () => {
    const log = join(dataDir, 'postgres.log');
    const before = readFileSync(log).length;
    writeFileSync(pidFile, '');
    const server = start();
    await until(() => readFileSync(log).subarray(before).includes('is empty'));
    rmSync(pidFile);
    expect(await rowsOf(await server)).toEqual([{ n: 42 }]);
  });

  it('of two first starts at the same time runs exactly once', () => {
    const refusals = firstStarts.flatMap(({ refusal }) => refusal ?? []);
    expect(refusals).toEqual([inUse(dataDir, firstOwner)]);
  });

  it("reports PostgreSQL's error", async () => {
    const rules = join(cluster, 'pg_hba.conf');
    const text = readFileSync(rules, 'utf8');
    writeFileSync(rules, 'wrong');
    expect(await rejectionOf(startEmbedded(options(dataDir)))).toBe(
      `Error: PostgreSQL did not start (could not load ${rules}): read ${dataDir}/postgres.log, or set DATABASE_URL to another server.`,
    );
    writeFileSync(rules, text);
  });

  it.each([
    ['is too long for a socket', 'ä'.repeat(100)],
    ['has a comma, which separates folders', 'a,b'],
  ])('works if the path %s', async (_, name) => {
    const odd = join(folder, name);
    renameSync(dataDir, odd);
    const server = await start(options(odd));
    const rows = await rowsOf(await startEmbedded({ ...command, dataDir: odd }));
    const socketFolder = new URL(server.url()).searchParams.get('host')!;
    const { mode } = statSync(socketFolder);
    await server.stop();
    renameSync(odd, dataDir);
    expect([rows, mode & 0o777, existsSync(socketFolder)]).toEqual([[{ n: 42 }], 0o700, false]);
  });

  asRoot('runs as nobody without a user postgres, which production rejects', async () => {
    mockUsers = 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n';
    const production = options(join(folder, 'production'), { allowNobody: false });
    expect(await rejectionOf(startEmbedded(production))).toMatch(
      /^Error: PostgreSQL does not run as root, and in production not as the user nobody, .+: create a user postgres, /,
    );
    expect(existsSync(production.dataDir)).toBe(false);
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    execFileSync('cp', ['-a', cluster, shared]);
    execFileSync('chown', ['-R', '65534:65534', shared]);
    expect(await rowsOf(await start(options(shared)))).toEqual([{ n: 42 }]);
  });

  asRoot(
    'has its data below /var/lib/animal-store if its user cannot reach the usual data folder',
    async () => {
      const closed = join(folder, 'closed');
      mkdirSync(closed, { mode: 0o700 });
      const movable = { ...options(join(closed, 'data')), canMove: true };
      const server = await start(movable);
      try {
        expect(server.directory).toMatch(/^\/var\/lib\/animal-store\/[0-9a-f]{12}$/);
        expect((await startEmbedded({ ...movable, purpose: 'command' })).url()).toBe(server.url());
      } finally {
        await server.stop();
        rmSync(server.directory, { recursive: true });
      }
    },
  );
});
