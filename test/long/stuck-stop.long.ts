import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataFolder } from '../support/service';
import { BuiltService } from './support/built-service';

/** A fast shutdown waits 30 s for a session. The immediate one after it ends the session within 10 s. */
const MAX_STOP_MS = 60_000;

jest.setTimeout(4 * MAX_STOP_MS);

it('an embedded PostgreSQL with a session that hangs does not prevent the start after a SIGKILL, and stops with the service', async () => {
  const folder = dataFolder();
  const service = await BuiltService.start({ DATA_DIR: folder.path, LOG_LEVEL: 'silent' });
  freezeSession(folder.path);
  await service.restart();
  freezeSession(folder.path);
  const startedAt = performance.now();
  await service.stop();
  expect(performance.now() - startedAt).toBeLessThan(MAX_STOP_MS);
  folder.remove();
});

/** Freezes the process of one session of the embedded server with SIGSTOP, so that it cannot end. */
function freezeSession(dataDir: string): void {
  const postmaster = Number.parseInt(readFileSync(join(dataDir, 'pg18', 'postmaster.pid'), 'utf8'), 10);
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  // The title of a process whose session uses the Unix socket.
  const [, pid] = new RegExp(`^ *(\\d+) +${postmaster} .*\\[local\\]`, 'm').exec(rows)!;
  process.kill(Number(pid), 'SIGSTOP');
}
