import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '../support/database';
import { freePort } from '../support/free-port';
import { send } from '../support/http';
import { dataFolder, MAX_START_MS, run, type ServiceProcess } from '../support/service';
import { until } from '../support/until';

describe('standard output that cannot be written', () => {
  const folder = dataFolder();
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(async () => {
    await database.drop();
    folder.remove();
  });

  function writingTo(standardOutput: number, port = 0): ServiceProcess {
    const environment = { DATABASE_URL: database.directUrl, PORT: String(port) };
    return run('main', [], environment, undefined, standardOutput);
  }

  it('ends a start with one sentence and status 1 if the disk is full; no key is created', async () => {
    const full = openSync('/dev/full', 'w');
    const service = writingTo(full);
    closeSync(full);
    expect(await service.ended).toBe(1);
    expect(service.output()).toBe(
      'Standard output cannot be written (ENOSPC: no space left on device, write). Free space on its disk, or restart its reader.\n',
    );
    expect(await database.query('SELECT id FROM api_keys')).toEqual([]);
  });

  it('delays neither responses nor SIGTERM if its reader has stalled', async () => {
    const path = join(folder.path, 'fifo');
    execFileSync('mkfifo', [path]);
    const fifo = openSync(path, constants.O_RDWR);
    const port = await freePort();
    const service = writingTo(fifo, port);
    const url = `http://127.0.0.1:${port}`;
    const isReady = () =>
      send(url, 'GET', '/livez').then(
        () => true,
        () => false,
      );
    await until(isReady, MAX_START_MS);
    // A pipe holds 64 KiB.
    for (let at = 0; at < 500; at += 1) {
      expect((await send(url, 'GET', `/livez/${'x'.repeat(200)}`)).status).toBe(404);
    }
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    closeSync(fifo);
  });
});
