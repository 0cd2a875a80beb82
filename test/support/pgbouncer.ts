import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseServerUser } from '../../src/embedded-postgres/programs';
import { freePort } from './free-port';
import { isRefused } from './is-refused';
import { until } from './until';

/** A PgBouncer in transaction mode: a connection keeps no state after its transaction. */
export interface PgBouncer {
  /** Returns the URL of a database through the pooler. */
  url(database: string): string;
  stop(): Promise<void>;
}

/** The program, `pgbouncer` on the path unless PGBOUNCER_PATH names another one. */
const PROGRAM = process.env['PGBOUNCER_PATH'] ?? 'pgbouncer';

/**
 * @param directUrl the URL of any database of the server, with the socket folder and the user
 * @param hasPrepared switches prepared statements on
 */
export async function startPgBouncer(directUrl: string, hasPrepared = false): Promise<PgBouncer> {
  const { error, stdout } = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' });
  if (error) throw new Error('pgbouncer is not installed: apt-get install pgbouncer');
  // An earlier version rejects the setting.
  const knowsPrepared = !/^PgBouncer 1\.(\d|1\d|20)\./.test(stdout);
  if (hasPrepared && !knowsPrepared) throw new Error('set PGBOUNCER_PATH to PgBouncer 1.21 or later');
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
${knowsPrepared ? `max_prepared_statements = ${hasPrepared ? 100 : 0}` : ''}
`;
  writeFileSync(join(folder, 'pgbouncer.ini'), settings);
  // PgBouncer does not run as root, and only the server's user can open the server's socket.
  const user = chooseServerUser();
  chmodSync(folder, 0o755);
  if (user) chownSync(folder, user.uid, user.gid);
  const identity = user ? { uid: user.uid, gid: user.gid } : {};
  const child = spawn(PROGRAM, ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...identity });
  await until(async () => !(await isRefused(`http://127.0.0.1:${listenPort}`)));
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
