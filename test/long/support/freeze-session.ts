import { execFileSync } from 'node:child_process';
import { readPostmasterFile } from '../../../src/embedded-postgres/postmaster-file';
import { clusterOf } from '../../../src/embedded-postgres/cluster';

/** Freezes the process of one session of the embedded server with SIGSTOP, so that it cannot end. */
export function freezeSession(dataDir: string): void {
  const postmaster = readPostmasterFile(clusterOf(dataDir))?.pid;
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  for (const row of rows) {
    const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(row) ?? [];
    // The title of a process whose session uses the Unix socket.
    if (Number(parent) !== postmaster || !command.includes('[local]')) continue;
    process.kill(Number(pid), 'SIGSTOP');
    return;
  }
  throw new Error('the server has no session');
}
