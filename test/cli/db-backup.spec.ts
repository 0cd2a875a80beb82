import { backupFolder } from '../database/support/backups';
import { send } from '../support/http';
import { runCli } from '../support/cli';
import { dataFolder } from '../support/service';
import { startHere } from '../support/start';

describe('db backup and db restore', () => {
  const folder = dataFolder();
  const target = dataFolder();
  const used = { DATA_DIR: folder.path };
  const empty = { DATA_DIR: target.path };
  const backups = backupFolder();
  const file = backups.file('store.backup');
  afterAll(() => {
    for (const { remove } of [folder, target, backups]) remove();
  });

  it('a backup of a running service, restored to another folder, is the same store', async () => {
    const service = await startHere(used);
    const { key = '' } = service;
    const rex = await send(service.url, 'POST', '/v1/pets', { key, body: { name: 'Rex', categoryId: 3 } });
    const written = await runCli(['db', 'backup', file, '--json'], used);
    expect(written).toMatchObject({ status: 0, all: written.out });
    expect(written.json()).toEqual({
      file,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      bytes: expect.any(Number),
      tables: expect.arrayContaining([
        { table: 'pets', rows: 1 },
        { table: 'accounts', rows: 1 },
      ]),
    });
    const onItself = await runCli(['db', 'restore', file], used);
    expect(onItself).toMatchObject({ status: 1, out: '' });
    expect(onItself.all).toMatch(/^The database is not empty .*\n$/);
    await service.stop();

    const restored = await runCli(['db', 'restore', file], empty);
    expect(restored.status).toBe(0);
    expect(restored.out).toMatch(/^pets: 1$/m);
    expect(restored.out).toMatch(/^Restored \d+ tables with \d+ rows of 2\S+Z\.$/m);
    const moved = await startHere(empty);
    expect(moved.key).toBeUndefined();
    const found = await send(moved.url, 'GET', '/v1/pets', { key });
    expect(found.json).toEqual([rex.json]);
    const mimi = await send(moved.url, 'POST', '/v1/pets', { key, body: { name: 'Mimi', categoryId: 3 } });
    expect([rex.json.id, mimi.json.id]).toEqual([1, 2]);
    await moved.stop();
  });

  it('prints each table, and replaces a file only with --force', async () => {
    const existing = await runCli(['db', 'backup', file], used);
    expect(existing).toMatchObject({
      status: 1,
      out: '',
      all: expect.stringMatching(/exists: .*--force\.\n$/),
    });
    const replaced = await runCli(['db', 'backup', file, '--force'], used);
    expect(replaced.out).toMatch(/^pets: 1$/m);
    expect(replaced.out).toMatch(/^Wrote \d+ tables with \d+ rows to .*\.backup \(\d+ bytes\)\.$/m);
    expect((await runCli(['db', 'backup'], used)).status).toBe(2);
  });
});
