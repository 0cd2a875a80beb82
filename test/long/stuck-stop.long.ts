import { dataFolder, runBuilt, running } from '../support/service';
import { freezeSession } from './support/freeze-session';

/** A fast shutdown waits 30 s for a session, the immediate one after it ends it within 10 s. */
const LONGEST_STOP_MS = 60_000;

jest.setTimeout(4 * LONGEST_STOP_MS);

describe('the embedded PostgreSQL, one of whose sessions hangs for ever', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  afterAll(() => folder.remove());

  const start = () => running(runBuilt('main', [], environment));

  it('ends with the service all the same, and starts again', async () => {
    const service = await start();
    freezeSession(folder.path);
    const startedAt = performance.now();
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    const stopMs = performance.now() - startedAt;
    console.log(`stop with a session that hangs: ${Math.round(stopMs)} ms`);
    expect(stopMs).toBeLessThan(LONGEST_STOP_MS);
  });

  it('does not keep the next start from coming up after the service was killed', async () => {
    const killed = await start();
    freezeSession(folder.path);
    const startedAt = performance.now();
    killed.child.kill('SIGKILL');
    await killed.ended;
    const next = await start();
    console.log(`start beside a server that hangs: ${Math.round(performance.now() - startedAt)} ms`);
    next.child.kill('SIGTERM');
    expect(await next.ended).toBe(0);
  });
});
