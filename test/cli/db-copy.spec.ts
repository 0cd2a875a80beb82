import { readFileSync } from 'node:fs';
import { lockPurpose } from '../../src/embedded-postgres/lock';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { migrations } from '../support/schema-config';
import { dataFolder, run, running } from '../support/service';
import { startHere } from '../support/start';
import { until } from '../support/until';

/** Lock of migrations; a copy waits for it while another process migrates the target. */
const MIGRATION_LOCK = 7_263_504_918;

describe('db copy', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  let target: TestDatabase;
  beforeAll(async () => {
    target = await createDatabase('template0');
  });
  afterAll(async () => {
    await target.drop();
    folder.remove();
  });

  async function copy(url: string, settings: Record<string, string> = {}) {
    const { status, out, all } = await runCli(['db', 'copy', '--to', url], { ...environment, ...settings });
    return { status, out, all: all.trim() };
  }

  it('is rejected while the service runs or with DATABASE_URL; then copies all data for another service', async () => {
    const service = await startHere(environment);
    const { key = '' } = service;
    const rex = await send(service.url, 'POST', '/v1/pets', { key, body: { name: 'Rex', categoryId: 3 } });
    const rejected = await copy(target.url);
    expect(rejected).toMatchObject({
      status: 1,
      out: '',
      all: expect.stringMatching(/^The service is running/),
    });
    await service.stop();

    const elsewhere = await copy(target.url, { DATABASE_URL: target.url });
    expect(elsewhere).toMatchObject({ status: 1, out: '', all: expect.stringMatching(/pg_dump/) });
    const unreachable = await copy('postgresql://someone:secret@127.0.0.1:9/shop');
    expect(unreachable).toMatchObject({ status: 1, out: '', all: expect.stringMatching(/reached .*--to/) });
    expect(elsewhere.all + unreachable.all + rejected.all).not.toMatch(/secret|\n.*\n.*\n/);
    expect(await target.query(`SELECT FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);

    const copied = await copy(target.url);
    expect(copied).toMatchObject({ status: 0, out: `${copied.all}\n` });
    expect(copied.all.split('\n')).toEqual(
      expect.arrayContaining(['pets: 1', 'accounts: 1', expect.stringMatching(/^Copied \d+ tables/)]),
    );
    expect(copied.all).toContain(`migrations: ${migrations.length}\n`);
    const tablesIn = (text: string) => text.match(/^ *\w+(?=: \d+$)/gm)?.map((name) => name.trim());
    const documented = readFileSync('docs/operations.md', 'utf8');
    expect(tablesIn(documented)).toEqual(tablesIn(copied.all));
    expect(documented).toContain(` migrations: ${migrations.length}\n`);
    const moved = await startHere({ DATABASE_URL: target.url });
    const mimi = await send(moved.url, 'POST', '/v1/pets', { key, body: { name: 'Mimi', categoryId: 3 } });
    expect([rex.json.id, mimi.json.id]).toEqual([1, 2]);
    expect(mimi.headers['ratelimit']).toMatch(/"day";r=99998;/);
    await moved.stop();
  });

  it('has exclusive use of the embedded server; a service that starts meanwhile waits for it', async () => {
    const next = await createDatabase('template0');
    await next.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    let isDone = false;
    const command = copy(next.url).finally(() => (isDone = true));
    await until(async () => {
      const waiting = await next.query(
        `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return waiting.length > 0;
    });
    expect(lockPurpose(folder.path)).toBe('command');
    const starting = run('main', [], environment);
    await next.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    const service = await running(starting);
    expect(isDone).toBe(true);
    expect(await command).toMatchObject({ status: 0 });
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    await next.drop();
  });
});
