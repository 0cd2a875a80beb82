import { readFileSync } from 'node:fs';
import { joinEmbedded } from '../../src/embedded-postgres';
import { backupFolder } from '../database/support/backups';
import { kennels } from '../modules/support/kennels.extension';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { send } from '../support/http';
import { migrations } from '../support/schema-config';
import { dataFolder } from '../support/service';
import { startHere } from '../support/start';
import { until } from '../support/until';

/** The lock of migrations; a copy waits for it while another process migrates the target. */
const MIGRATION_LOCK = 7_263_504_918;
const KENNELS = 'Kennels1795300000000';

describe('db migrate, db status and db revert', () => {
  it('apply, list and revert migrations; the audit records a revert', async () => {
    const database = await createDatabase('template0');
    const environment = { DATABASE_URL: database.directUrl };
    const cli = (...args: string[]) => runCli(args, environment);
    const withKennels = (...args: string[]) => runCli(args, environment, { extensions: [kennels] });
    const names = migrations.map(({ name }) => name);
    const last = names.at(-1);
    expect((await cli('db', 'revert')).out).toBe('There is no migration to revert.\n');
    expect((await cli('db', 'forget', 'kennels')).status).toBe(1);
    expect((await cli('db', 'migrate')).out).toBe(`Applied ${names.join(', ')}.\n`);
    expect((await cli('db', 'migrate')).out).toBe('The schema is up to date.\n');
    expect(readFileSync('docs/cli.md', 'utf8')).toContain((await cli('db', 'status')).out);
    expect((await cli('db', 'revert')).out).toBe(`Reverted ${last}.\n`);
    expect((await cli('db', 'status')).out).toMatch(new RegExp(`^(applied  .*\n)+pending  ${last}\n$`));
    expect(await cli('keys', 'list')).toMatchObject({ status: 1, out: '' });
    expect((await withKennels('db', 'migrate')).out).toBe(`Applied ${last}, ${KENNELS}.\n`);
    expect((await withKennels('db', 'revert')).out).toBe(`Reverted ${KENNELS}.\n`);
    const entries = (await cli('audit', 'list', '--json')).json() as { command: string }[];
    expect(entries.map(({ command }) => command)).toEqual(['migrate', 'db revert']);
    await database.drop();
  });
});

describe('db forget', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
    expect((await withKennels('db', 'migrate')).out).toBe(`Applied ${KENNELS}.\n`);
  });
  afterEach(() => database.drop());

  const cli = (...args: string[]) => runCli(args, { DATABASE_URL: database.directUrl });
  const withKennels = (...args: string[]) =>
    runCli(args, { DATABASE_URL: database.directUrl }, { extensions: [kennels] });

  it('deletes the tables of a removed extension while a service runs; db status lists them until then', async () => {
    expect((await withKennels('db', 'status')).out).toMatch(`applied  ${KENNELS} (kennels)\n`);
    expect((await cli('db', 'status')).out).toMatch(`removed  ${KENNELS} (kennels)\n`);
    const service = await startHere({ DATABASE_URL: database.directUrl });
    const revert = await cli('db', 'revert');
    expect([revert.status, revert.all]).toEqual([1, expect.stringContaining('Run "db forget kennels"')]);
    for (const name of ['kennel', 'pets']) {
      expect(await cli('db', 'forget', name)).toMatchObject({
        status: 1,
        all: `The database has no migrations of an extension ${name}. "db status" shows the name of each extension.\n`,
      });
    }
    expect(await cli('db', 'forget', 'kennels')).toMatchObject({
      status: 0,
      out: `Reverted ${KENNELS}.\n`,
    });
    await service.stop();
    expect((await cli('db', 'status')).out).not.toContain(KENNELS);
    expect(await database.query(`SELECT to_regclass('kennels') AS found`)).toEqual([{ found: null }]);
  });

  it('deletes those of an extension of this program, too, and says that a start creates them again', async () => {
    const { out } = await withKennels('db', 'forget', 'kennels');
    expect(out).toBe(
      `Reverted ${KENNELS}.\nThis program has the extension kennels: its next start applies the migrations again.\n`,
    );
    expect((await withKennels('db', 'status')).out).toMatch(`pending  ${KENNELS} (kennels)\n`);
  });

  it('is rejected in a database of a newer version of the store', async () => {
    await database.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later')`);
    expect((await cli('db', 'status')).out).toMatch(/^newer {4}Later$/m);
    expect((await cli('db', 'forget', 'kennels')).all).toMatch(
      /^The database was migrated by a newer version/,
    );
  });
});

// Each test continues with the data folder as the test before has left it: a new one takes a second.
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

  it('db backup of a running service, and db restore to an empty folder, give the same store', async () => {
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
      tables: expect.arrayContaining([
        { table: 'pets', rows: 1 },
        { table: 'accounts', rows: 1 },
      ]),
    });
    const onItself = await runCli(['db', 'restore', file], used);
    expect(onItself).toMatchObject({ status: 1, out: '' });
    expect(onItself.all).toMatch(/^The database is not empty .*\n$/);
    await service.stop();

    const existing = await runCli(['db', 'backup', file], used);
    expect([existing.status, existing.out]).toEqual([1, '']);
    expect(existing.all).toMatch(/exists: .*--force\.\n$/);
    const replaced = await runCli(['db', 'backup', file, '--force'], used);
    expect(replaced.out).toMatch(/^pets: 1$/m);
    expect(replaced.out).toMatch(/^Wrote \d+ tables with \d+ rows to .*\.backup \(\d+ bytes\)\.$/m);

    const restored = await runCli(['db', 'restore', file], environment);
    expect(restored.status).toBe(0);
    expect(restored.out).toMatch(/^pets: 1$/m);
    expect(restored.out).toMatch(/^Restored \d+ tables with \d+ rows of 2\S+Z\.$/m);
    const moved = await startHere(environment);
    expect(moved.key).toBeUndefined();
    expect((await send(moved.url, 'GET', '/v1/pets', { key })).json).toEqual([created.json]);
    const next = await send(moved.url, 'POST', '/v1/pets', { key, body: rex });
    expect([created.json.id, next.json.id]).toEqual([1, 2]);
    const copy = await runCli(['db', 'copy', '--to', source.url], environment);
    expect(copy).toMatchObject({ status: 1, out: '', all: expect.stringMatching(/^The service is running/) });
    await moved.stop();
  });

  it('db copy is rejected with DATABASE_URL; it copies all data, with exclusive use of the folder', async () => {
    const target = await createDatabase('template0');
    const copy = (url: string, more = {}) => runCli(['db', 'copy', '--to', url], { ...environment, ...more });
    const elsewhere = await copy(target.url, { DATABASE_URL: target.url });
    expect(elsewhere).toMatchObject({ status: 1, out: '', all: expect.stringMatching(/pg_dump/) });
    const unreachable = await copy('postgresql://someone:secret@127.0.0.1:9/shop');
    expect(unreachable).toMatchObject({ status: 1, out: '', all: expect.stringMatching(/reached .*--to/) });
    expect(elsewhere.all + unreachable.all).not.toMatch(/secret|\n.*\n.*\n/);

    await target.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const copying = copy(target.url);
    const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await until(async () => (await target.query(waiting)).length > 0);
    expect(await joinEmbedded({ dataDir: folder.path })).toBeUndefined();
    await target.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    const { status, out } = await copying;
    expect([status, out]).toEqual([0, expect.stringMatching(/^pets: 2\n(.*\n)*Copied \d+ tables/m)]);
    const tablesIn = (text: string) => text.match(/^ *\w+(?=: \d+$)/gm)?.map((name) => name.trim());
    const documented = readFileSync('docs/operations.md', 'utf8');
    expect(tablesIn(documented)).toEqual(tablesIn(out));
    expect(documented).toContain(` migrations: ${migrations.length}\n`);
    expect(await target.query('SELECT name FROM pets')).toEqual([{ name: 'Rex' }, { name: 'Rex' }]);
    await target.drop();
  });

  it('keys create without a running service makes a key that a later start accepts: in production a live one', async () => {
    const production = { ...environment, DEPLOYMENT: 'production' };
    const { status, json } = await runCli(['keys', 'create', '--account', 'acme', '--json'], production);
    expect([status, json().key]).toEqual([0, expect.stringMatching(/^ask_live_/)]);
    const service = await startHere(production);
    expect((await send(service.url, 'GET', '/v1/pets', { key: json().key })).status).toBe(200);
    await service.stop();
  });
});
