import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { send } from '../support/http';
import { dataFolder, run } from '../support/service';
import { startHere } from '../support/start';
import { until } from '../support/until';

const MAX_START_MS = 60_000;
const ROOT = join(__dirname, '..', '..');
const TYPESCRIPT = join(ROOT, 'test/support/typescript.cjs');

describe('a signal during the start', () => {
  it.each([
    ['SIGTERM', 143, 'app.lock'],
    ['SIGINT', 130, 'pg18'],
    ['SIGHUP', 129, 'pg18/postmaster.pid'],
  ] as const)(
    '%s ends the process with status %d as soon as %s exists, and the next start succeeds',
    async (signal, status, file) => {
      const folder = dataFolder();
      const environment = { DATA_DIR: folder.path };
      const service = run('main', [], environment);
      await until(() => existsSync(join(folder.path, file)), MAX_START_MS);
      service.child.kill(signal);
      expect(await service.ended).toBe(status);

      const again = await startHere(environment);
      expect((await send(again.url, 'GET', '/readyz')).status).toBe(200);
      await again.stop();
      folder.remove();
    },
  );

  it('stops the service with status 0 if it arrives in the last moment of the start', () => {
    // The handler runs after this code, although the signal has arrived before.
    const program = `
      const { exitOnStopSignal, onStopSignal } = require('./src/platform/runtime/stop-signals');
      exitOnStopSignal();
      process.kill(process.pid, 'SIGTERM');
      onStopSignal(() => process.exit(0));
      setTimeout(() => process.exit(1), 1_000);`;
    const { status } = spawnSync(process.execPath, ['-r', TYPESCRIPT, '-e', program], { cwd: ROOT });
    expect(status).toBe(0);
  });
});
