import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { send } from '../support/http';
import { dataFolder, MAX_START_MS, runBuilt, running, runOnTerminal } from '../support/service';
import { until } from '../support/until';

const CTRL_C = '\x03';
const CTRL_S = '\x13';
/** More lines than a terminal and its stalled reader hold. */
const LOGGED_REQUESTS = 500;

jest.setTimeout(10 * MAX_START_MS);

describe('the first start on an empty folder', () => {
  let folder: ReturnType<typeof dataFolder>;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = dataFolder();
    environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  });
  afterEach(() => folder.remove());

  const startOnTerminal = () => runOnTerminal([join('dist', 'main.js')], environment);
  const starts = () => runBuilt('main', [], environment);

  it.each([
    ['SIGTERM', 143, 'init-'],
    ['SIGINT', 130, 'pg18'],
    ['SIGHUP', 129, 'postgres.log'],
    ['Ctrl-C', 130, 'init-'],
    ['Ctrl-C', 130, 'pg18'],
    ['Ctrl-C', 130, 'postgres.log'],
  ] as const)(
    '%s: ends with status %d when %s exists, and the next start succeeds',
    async (signal, status, name) => {
      const service = signal === 'Ctrl-C' ? startOnTerminal() : starts();
      await until(() => readdirSync(folder.path).some((each) => each.startsWith(name)), MAX_START_MS);
      if (signal === 'Ctrl-C') service.child.stdin!.write(CTRL_C);
      else service.child.kill(signal);
      const ended = await service.ended;
      // The start ends first if this process stalls here.
      expect(ended).toBe(service.output().includes(' listens on ') ? 0 : status);
      expect(service.output()).not.toMatch(/^ +at |Assertion/m);

      const again = await running(starts());
      expect((await send(again.url, 'GET', '/readyz')).status).toBe(200);
      again.child.kill('SIGTERM');
      expect(await again.ended).toBe(0);
    },
  );

  it('succeeds, and so do two commands that start at the same time; workers of another service on its port fail in one sentence', async () => {
    const commands = Array.from({ length: 2 }, () =>
      runBuilt('cli/main', ['db', 'migrate', '--json'], environment),
    );
    const service = await running(starts());
    for (const command of commands) {
      const status = await command.ended;
      expect({ status, output: command.output() }).toMatchObject({
        status: 0,
        output: expect.stringContaining('"applied"'),
      });
    }
    const { port } = new URL(service.url);
    const other = dataFolder();
    const second = runBuilt('main', [], {
      DATA_DIR: other.path,
      PORT: port,
      WORKERS: '2',
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    expect(await second.ended).toBe(1);
    expect(second.output()).toMatch(/^The service cannot listen \(.*EADDRINUSE.*, or set HOST or PORT\.$/m);
    other.remove();
    service.child.kill('SIGINT');
    expect(await service.ended).toBe(0);
  });

  it('responds while Ctrl-S holds the output of its terminal, and stops with 0; so does Ctrl-C', async () => {
    environment = { DATA_DIR: folder.path };
    const service = await running(startOnTerminal());
    service.child.stdin!.write(CTRL_S);
    for (let sent = 0; sent < LOGGED_REQUESTS; sent += 1) {
      const { status } = await send(service.url, 'GET', `/v1/${'x'.repeat(250)}`);
      expect(status).toBe(401);
    }
    process.kill(Number(/^pid (\d+)$/m.exec(service.output())?.[1]), 'SIGTERM');
    expect(await service.ended).toBe(0);
    const next = await running(startOnTerminal());
    next.child.stdin!.write(CTRL_C);
    expect(await next.ended).toBe(0);
  });
});
