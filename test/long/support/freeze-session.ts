import { execFileSync } from 'node:child_process';
import { readPostmasterFile } from '../../../src/database/embedded/postmaster-file';
import { clusterOf } from '../../../src/database/embedded/cluster';

/** Stops, by SIGSTOP, the process of one session with the embedded server: it does nothing any more, not even end. */
export function freezeSession(dataDir: string): void {
  const postmaster = readPostmasterFile(clusterOf(dataDir))?.pid;
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  for (const row of rows) {
    const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(row) ?? [];
    // How PostgreSQL names a session that came over the Unix socket.
    if (Number(parent) !== postmaster || !command.includes('[local]')) continue;
    process.kill(Number(pid), 'SIGSTOP');
    return;
  }
  throw new Error('the server has no session');
}
