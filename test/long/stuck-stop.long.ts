import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataFolder } from '../support/service';
import { BuiltService } from './support/built-service';

/** A fast shutdown waits 30 s for a session. The immediate one after it ends the session within 10 s. */
const MAX_STOP_MS = 60_000;

jest.setTimeout(4 * MAX_STOP_MS);

describe('the embedded PostgreSQL with a session that hangs forever', () => {
  // Both cases mostly wait, so they run concurrently.
  it('stops with the service, and does not prevent the next start after a SIGKILL', async () => {
    const [stopMs, startMs] = await Promise.all([inFolder(stopBesideSession), inFolder(startBesideServer)]);
    process.stdout.write(
      `stop with a session that hangs: ${stopMs} ms; start beside such a server: ${startMs} ms\n`,
    );
    expect(stopMs).toBeLessThan(MAX_STOP_MS);
  });
});

type Start = () => Promise<BuiltService>;

/** Runs one case on a new data folder. @returns its duration in ms */
async function inFolder(measure: (path: string, start: Start) => Promise<number>): Promise<number> {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  try {
    return Math.round(await measure(folder.path, () => BuiltService.start(environment)));
  } finally {
    folder.remove();
  }
}

async function stopBesideSession(path: string, start: Start): Promise<number> {
  const service = await start();
  freezeSession(path);
  const startedAt = performance.now();
  await service.stop();
  return performance.now() - startedAt;
}

async function startBesideServer(path: string, start: Start): Promise<number> {
  const service = await start();
  freezeSession(path);
  const startedAt = performance.now();
  await service.restart();
  const startMs = performance.now() - startedAt;
  await service.stop();
  return startMs;
}

/** Freezes the process of one session of the embedded server with SIGSTOP, so that it cannot end. */
function freezeSession(dataDir: string): void {
  const postmaster = Number.parseInt(readFileSync(join(dataDir, 'pg18', 'postmaster.pid'), 'utf8'), 10);
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
