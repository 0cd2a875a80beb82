import { readdirSync } from 'node:fs';
import { backupFolder } from '../database/support/backups';
import { kennels } from '../modules/support/kennels.extension';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { migrations } from '../support/schema-config';
import { dataFolder } from '../support/service';
import { startHere } from '../support/start';

const KENNELS = 'Kennels1795300000000';

describe('db migrate, db status and db revert', () => {
  it('apply, list and revert migrations; the audit records a revert', async () => {
    const database = await createDatabase('template0');
    const environment = { DATABASE_URL: database.directUrl };
    const cli = (...args: string[]) => runCli(args, environment);
    const withKennels = (...args: string[]) => runCli(args, environment, { extensions: [kennels] });
    const names = migrations.map(({ name }) => name);
    const last = names.at(-1);
    expect((await cli('db', 'revert', '--yes')).out).toBe('There is no migration to revert.\n');
    expect((await cli('db', 'migrate')).out).toBe(`Applied ${names.join(', ')}.\n`);
    expect((await cli('db', 'migrate')).out).toBe('The schema is up to date.\n');
    expect((await cli('db', 'revert', '--yes')).out).toBe(`Reverted ${last}.\n`);
    expect((await cli('db', 'status')).out).toMatch(
      new RegExp(`^STATE .*\n(applied  .*\n)+pending  ${last} +-\n$`),
    );
    expect(await cli('keys', 'list')).toMatchObject({ status: 1, out: '' });
    expect((await withKennels('db', 'migrate')).out).toBe(`Applied ${last}, ${KENNELS}.\n`);
    expect((await withKennels('db', 'revert', '--yes')).out).toBe(`Reverted ${KENNELS}.\n`);
    const entries = (await cli('audit', 'list', '--json')).json() as { command: string }[];
    expect(entries.map(({ command }) => command)).toEqual(['migrate', 'db revert', 'migrate', 'db revert']);
    await database.drop();
  });
});

describe('db revert --extension', () => {
  it('takes the tables of an extension away; db status lists those of a removed one', async () => {
    const database = await createDatabase();
    const cli = (...args: string[]) => runCli(args, { DATABASE_URL: database.directUrl });
    const withKennels = (...args: string[]) =>
      runCli(args, { DATABASE_URL: database.directUrl }, { extensions: [kennels] });
    expect((await withKennels('db', 'migrate')).out).toBe(`Applied ${KENNELS}.\n`);
    expect((await withKennels('db', 'status')).out).toMatch(
      new RegExp(`^applied  ${KENNELS} +kennels$`, 'm'),
    );
    expect((await cli('db', 'status')).out).toMatch(new RegExp(`^removed  ${KENNELS} +kennels$`, 'm'));
    const revert = ['db', 'revert', '--extension', 'kennels', '--yes'];
    expect(await cli(...revert)).toMatchObject({
      status: 1,
      all: expect.stringContaining('which this program does not have'),
    });
    expect(await withKennels(...revert)).toMatchObject({ status: 0, out: `Reverted ${KENNELS}.\n` });
    expect((await withKennels(...revert)).out).toBe('There is no migration of kennels to revert.\n');
    expect((await cli('db', 'status')).out).not.toContain(KENNELS);
    expect(await database.query(`SELECT to_regclass('kennels') AS found`)).toEqual([{ found: null }]);
    await database.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later')`);
    expect((await cli('db', 'status')).out).toMatch(/^newer {4}Later +-$/m);
    await database.drop();
  });
});

describe('commands on a data folder', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path };
  const backups = backupFolder();
  const file = backups.file('store.backup');
  let source: TestDatabase;
  let key: string;
  beforeAll(async () => {
    source = await createDatabase();
  });
  afterAll(async () => {
    await source.drop();
    for (const { remove } of [folder, backups]) remove();
  });

  const rex = { name: 'Rex', categoryId: 3 };

  it('db backup of a running service, and db restore to an empty folder, give the same store, which the next command shares', async () => {
    const used = { DATABASE_URL: source.directUrl };
    const service = await startHere(used);
    key = service.key!;
    const created = await send(service.url, 'POST', '/v1/pets', { key, body: rex });
    const written = await runCli(['db', 'backup', file, '--json'], used);
    expect(written).toMatchObject({ status: 0, all: written.out });
    expect(written.json()).toEqual({
      file,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      bytes: expect.any(Number),
    });
    await service.stop();
    expect((await runCli(['db', 'restore', file], used)).all).toMatch(/^The database is not empty: .*\n$/);

    // The next restore uses the empty database that a failed one leaves; no other command creates its tables.
    expect((await runCli(['db', 'restore', `${file}.missing`], environment)).status).toBe(1);
    expect(await runCli(['keys', 'list'], environment)).toMatchObject({
      status: 1,
      all: expect.stringMatching(/^There is no database in .*\.\n$/),
    });
    const restored = await runCli(['db', 'restore', file], environment);
    expect(restored.status).toBe(0);
    expect(restored.out).toMatch(/^Restored the database as of 2\S+Z\.$/m);
    const moved = await startHere(environment);
    expect(moved.key).toBeUndefined();
    expect((await send(moved.url, 'GET', '/v1/pets', { key })).json).toEqual([created.json]);
    const next = await send(moved.url, 'POST', '/v1/pets', { key, body: rex });
    expect([created.json.id, next.json.id]).toEqual([1, 2]);
    // A command shares the server of the service.
    expect(await runCli(['seed', '--pets', '20'], environment)).toMatchObject({ status: 0 });
    expect((await send(moved.url, 'GET', '/v1/pets?limit=100', { key })).json).toHaveLength(22);
    await moved.stop();
  });

  it('db restore of another file than a backup creates no database; db migrate creates one', async () => {
    const empty = dataFolder();
    for (const path of ['README.md', backups.path, backups.file('missing')]) {
      const failed = await runCli(['db', 'restore', path], { DATA_DIR: empty.path });
      expect(failed).toMatchObject({
        status: 1,
        out: '',
        all: expect.stringMatching(/^The backup .* cannot be restored \(.*\): nothing was restored\. .*\n$/),
      });
    }
    expect(readdirSync(empty.path)).toEqual([]);
    expect((await runCli(['db', 'migrate'], { DATA_DIR: empty.path })).status).toBe(0);
    empty.remove();
  });
});
