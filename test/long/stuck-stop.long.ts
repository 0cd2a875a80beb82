import { dataFolder, runBuilt, running, type RunningService } from '../support/service';
import { freezeSession } from './support/freeze-session';

/** A fast shutdown waits 30 s for a session, the immediate one after it ends it within 10 s. */
const LONGEST_STOP_MS = 60_000;

jest.setTimeout(4 * LONGEST_STOP_MS);

describe('the embedded PostgreSQL with a session that hangs forever', () => {
  // Both wait most of the time, so they wait together.
  it('stops with the service, and does not keep the next start from coming up after a kill', async () => {
    const [stopMs, startMs] = await Promise.all([inFolder(stopBesideSession), inFolder(startBesideServer)]);
    process.stdout.write(
      `stop with a session that hangs: ${stopMs} ms; start beside such a server: ${startMs} ms\n`,
    );
    expect(stopMs).toBeLessThan(LONGEST_STOP_MS);
  });
});

type Start = () => Promise<RunningService>;

/** Runs one case on a data folder of its own. @returns how long it took, in ms */
async function inFolder(measure: (path: string, start: Start) => Promise<number>): Promise<number> {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  try {
    return Math.round(await measure(folder.path, () => running(runBuilt('main', [], environment))));
  } finally {
    folder.remove();
  }
}

async function stopBesideSession(path: string, start: Start): Promise<number> {
  const service = await start();
  freezeSession(path);
  const startedAt = performance.now();
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  return performance.now() - startedAt;
}

async function startBesideServer(path: string, start: Start): Promise<number> {
  const killed = await start();
  freezeSession(path);
  const startedAt = performance.now();
  killed.child.kill('SIGKILL');
  await killed.ended;
  const next = await start();
  const startMs = performance.now() - startedAt;
  next.child.kill('SIGTERM');
  expect(await next.ended).toBe(0);
  return startMs;
}
