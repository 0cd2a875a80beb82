import { spawn } from 'node:child_process';
import { itUnderLoad } from '../support/it-when';
import { readdirSync } from 'node:fs';
import { startOwnServer } from '../failure/support/own-server';
import { send } from '../support/http';
import { dataFolder, runBuilt, running } from '../support/service';
import { until } from '../support/until';

const MAX_START_MS = 60_000;

const STARTS = 10;
const BUSY_LOOPS = 6;
/** A guard against hanging: other programs may keep the machine busy, too. */
const MAX_BUSY_START_MS = 5 * MAX_START_MS;

jest.setTimeout(STARTS * MAX_BUSY_START_MS);

describe('the first start on an empty folder', () => {
  it.each([
    ['SIGTERM', 143, 'init-'],
    ['SIGINT', 130, 'pg18'],
    ['SIGHUP', 129, 'postgres.log'],
  ] as const)(
    '%s: ends with status %d when %s exists, and the next start succeeds',
    async (signal, status, name) => {
      const folder = dataFolder();
      const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
      const service = runBuilt('main', [], environment);
      await until(() => readdirSync(folder.path).some((each) => each.startsWith(name)), MAX_START_MS);
      service.child.kill(signal);
      const ended = await service.ended;
      // The start ends first if this process stalls here.
      expect(ended).toBe(service.output().includes(' listens on ') ? 0 : status);

      const again = await running(runBuilt('main', [], environment));
      expect((await send(again.url, 'GET', '/readyz')).status).toBe(200);
      again.child.kill('SIGTERM');
      expect(await again.ended).toBe(0);
      folder.remove();
    },
  );

  it('succeeds, and so do two commands that start at the same time; workers of another service on its port fail in one sentence', async () => {
    const folder = dataFolder();
    const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
    const commands = Array.from({ length: 2 }, () =>
      runBuilt('cli/main', ['db', 'migrate', '--json'], environment),
    );
    const service = await running(runBuilt('main', [], environment));
    const statuses = [];
    for (const command of commands)
      statuses.push([await command.ended, command.output().includes('"applied"')]);
    expect(statuses).toEqual(commands.map(() => [0, true]));
    const { port } = new URL(service.url);
    const other = dataFolder();
    const second = runBuilt('main', [], { DATA_DIR: other.path, PORT: port, WORKERS: '2' });
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(
      `127.0.0.1:${port} is in use. Stop the program that uses it, or set PORT.\n`,
    );
    other.remove();
    service.child.kill('SIGINT');
    expect(await service.ended).toBe(0);
    folder.remove();
  });
});

describe('a start on a server of its own', () => {
  itUnderLoad(`succeeds ${STARTS} times of ${STARTS} during ${BUSY_LOOPS} busy loops`, async () => {
    const server = await startOwnServer();
    const loops = Array.from({ length: BUSY_LOOPS }, () => spawn(process.execPath, ['-e', 'for (;;);']));
    const outputs: string[] = [];
    for (let start = 0; start < STARTS; start += 1) {
      const service = runBuilt('main', [], { DATABASE_URL: server.url(), LOG_LEVEL: 'silent' });
      const hasStarted = () => service.output().includes(' listens on ');
      await until(() => hasStarted() || service.child.exitCode !== null, MAX_BUSY_START_MS);
      if (!hasStarted()) outputs.push(service.output());
      service.child.kill('SIGTERM');
      await service.ended;
    }
    for (const loop of loops) loop.kill('SIGKILL');
    await server.remove();
    expect(outputs).toEqual([]);
  });
});
