import { join } from 'node:path';
import { send } from '../support/http';
import { itUnderLoad } from '../support/it-when';
import { dataFolder, MAX_START_MS, running, runOnTerminal } from '../support/service';
import { until } from '../support/until';

const MOMENTS = 20;
const CTRL_C = '\x03';
const CTRL_S = '\x13';
/** More lines than a terminal and its stalled reader hold. */
const LOGGED_REQUESTS = 500;

jest.setTimeout(MOMENTS * MAX_START_MS);

const folder = dataFolder();
const environment = { DATA_DIR: folder.path };
const start = () => runOnTerminal([join('dist', 'main.js')], environment);
afterAll(folder.remove);

describe('a service on a terminal', () => {
  itUnderLoad(`ends with 130 or 0 on Ctrl-C at ${MOMENTS} moments of its start and run`, async () => {
    await stopBy(CTRL_C);
    const startedAt = Date.now();
    await stopBy(CTRL_C);
    const startMs = Date.now() - startedAt;
    const statuses = [];
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const service = start();
      // Before the terminal exists Ctrl-C is lost.
      await until(() => service.output().includes('pid'));
      await new Promise((resolve) => setTimeout(resolve, (moment / MOMENTS) * 1.2 * startMs));
      service.child.stdin!.write(CTRL_C);
      statuses.push(await service.ended);
      expect(service.output()).not.toMatch(/^ +at |Assertion/m);
    }
    process.stdout.write(`Ctrl-C at ${MOMENTS} moments of ${startMs} ms: ${statuses.join(' ')}\n`);
    expect(statuses.filter((status) => status !== 130 && status !== 0)).toEqual([]);
    // The last one, with the data of all.
    await stopBy(CTRL_C);
  });

  itUnderLoad('responds while Ctrl-S holds its output, and stops with 0', async () => {
    const service = await running(start());
    service.child.stdin!.write(CTRL_S);
    for (let sent = 0; sent < LOGGED_REQUESTS; sent += 1) {
      const { status } = await send(service.url, 'GET', `/v1/${'x'.repeat(250)}`);
      expect(status).toBe(401);
    }
    process.kill(Number(/^pid (\d+)$/m.exec(service.output())?.[1]), 'SIGTERM');
    expect(await service.ended).toBe(0);
  });
});

async function stopBy(keys: string): Promise<void> {
  const service = await running(start());
  service.child.stdin!.write(keys);
  expect(await service.ended).toBe(0);
}
