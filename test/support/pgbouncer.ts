import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseServerUser } from '../../src/embedded-postgres/programs';
import { freePort } from './free-port';
import { until } from './until';

/** A PgBouncer in transaction mode: a connection keeps no state after its transaction. */
export interface PgBouncer {
  /** Returns the URL of a database through the pooler. */
  url(database: string): string;
  stop(): Promise<void>;
}

/** The program, `pgbouncer` on the path unless PGBOUNCER_PATH names another one. */
const PROGRAM = process.env['PGBOUNCER_PATH'] ?? 'pgbouncer';

/** Returns true if PgBouncer knows prepared statements in transaction mode: 1.21 or later. */
function knowsPreparedStatements(): boolean {
  const [major = 0, minor = 0] = version().split('.').map(Number);
  return major > 1 || minor >= 21;
}

/**
 * @param directUrl the URL of any database of the server, with the socket folder and the user
 * @param hasPrepared switches prepared statements on
 */
export async function startPgBouncer(directUrl: string, hasPrepared = false): Promise<PgBouncer> {
  if (hasPrepared && !knowsPreparedStatements())
    throw new Error(`PgBouncer ${version()} has no prepared statements: set PGBOUNCER_PATH to 1.21 or later`);
  const { searchParams, hostname, port, username } = new URL(directUrl);
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-pgbouncer-'));
  const listenPort = await freePort();
  const settings = `
[databases]
* = host=${searchParams.get('host') ?? hostname} port=${port || 5432} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 2000
default_pool_size = 10
server_login_retry = 1
${knowsPreparedStatements() ? `max_prepared_statements = ${hasPrepared ? 100 : 0}` : ''}
`;
  writeFileSync(join(folder, 'pgbouncer.ini'), settings);
  // PgBouncer does not run as root, and only the server's user can open the server's socket.
  const user = chooseServerUser();
  chmodSync(folder, 0o755);
  if (user) chownSync(folder, user.uid, user.gid);
  const identity = user ? { uid: user.uid, gid: user.gid } : {};
  const child = spawn(PROGRAM, ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...identity });
  await Promise.race([failureOf(child), until(() => accepts(listenPort))]);
  return {
    url: (database) => `postgresql://${username}@127.0.0.1:${listenPort}/${database}?sslmode=disable`,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      // Since 1.23 PgBouncer waits for its clients after SIGTERM.
      child.kill('SIGQUIT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the version of PgBouncer, such as "1.24.1". */
function version(): string {
  const { error, stdout } = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' });
  if (error) throw new Error('pgbouncer is not installed: apt-get install pgbouncer');
  return /[\d.]+/.exec(stdout)?.[0] ?? '';
}

function failureOf(child: ChildProcess): Promise<never> {
  return new Promise((_resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (status) => reject(new Error(`pgbouncer ended with ${status}`)));
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const end = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}
