import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseServerUser } from '../../src/embedded-postgres/server-user';
import { freePort } from './free-port';
import { until } from './until';

/** A PgBouncer in transaction mode: a connection keeps no state after its transaction. */
export interface PgBouncer {
  /** Returns the URL of a database through the pooler. */
  url(database: string): string;
  stop(): Promise<void>;
}

/** @param directUrl the URL of any database of the server, with the socket folder and the user */
export async function startPgBouncer(directUrl: string): Promise<PgBouncer> {
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
`;
  writeFileSync(join(folder, 'pgbouncer.ini'), settings);
  // PgBouncer does not run as root, and only the server's user can open the server's socket.
  const user = chooseServerUser();
  chmodSync(folder, 0o755);
  if (user) chownSync(folder, user.uid, user.gid);
  const identity = user ? { uid: user.uid, gid: user.gid } : {};
  const child = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...identity });
  await Promise.race([failureOf(child), until(() => accepts(listenPort))]);
  return {
    url: (database) => `postgresql://${username}@127.0.0.1:${listenPort}/${database}?sslmode=disable`,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function failureOf(child: ChildProcess): Promise<never> {
  return new Promise((_resolve, reject) => {
    child.once('error', () => reject(new Error('pgbouncer is not installed: apt-get install pgbouncer')));
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
