import { kennels } from '../modules/support/kennels.extension';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { startHere } from '../support/start';

const NAME = 'Kennels1795300000000';

describe('db forget', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
    expect((await withKennels('db', 'migrate')).out).toBe(`Applied ${NAME}.\n`);
  });
  afterEach(() => database.drop());

  const cli = (...args: string[]) => runCli(args, { DATABASE_URL: database.directUrl });
  const withKennels = (...args: string[]) =>
    runCli(args, { DATABASE_URL: database.directUrl }, { extensions: [kennels] });

  it('deletes the tables of a removed extension, which db status lists until then', async () => {
    expect((await withKennels('db', 'status')).out).toMatch(`applied  ${NAME} (kennels)\n`);
    expect((await cli('db', 'status')).out).toMatch(`removed  ${NAME} (kennels)\n`);
    expect(await cli('db', 'forget', 'kennels')).toMatchObject({ status: 0, out: `Reverted ${NAME}.\n` });
    expect((await cli('db', 'status')).out).not.toContain(NAME);
    expect(await database.query(`SELECT to_regclass('kennels') AS found`)).toEqual([{ found: null }]);
  });

  it('deletes those of an extension of this program, too, and says that a start creates them again', async () => {
    const { out } = await withKennels('db', 'forget', 'kennels');
    expect(out).toBe(
      `Reverted ${NAME}.\nThis program has the extension kennels: its next start applies the migrations again.\n`,
    );
    expect((await withKennels('db', 'status')).out).toMatch(`pending  ${NAME} (kennels)\n`);
  });

  it.each(['kennel', 'pets'])('fails for a name without migrations of an extension: %s', async (name) => {
    expect(await cli('db', 'forget', name)).toMatchObject({
      status: 1,
      all: `The database has no migrations of an extension ${name}. "db status" shows the name of each extension.\n`,
    });
  });

  it('fails for every name in an empty database', async () => {
    const empty = await createDatabase('template0');
    const { status } = await runCli(['db', 'forget', 'kennels'], { DATABASE_URL: empty.directUrl });
    expect(status).toBe(1);
    await empty.drop();
  });

  it('works while a service without the extension runs; other commands work before it', async () => {
    const service = await startHere({ DATABASE_URL: database.directUrl });
    expect(await cli('keys', 'list')).toMatchObject({ status: 0 });
    expect(await cli('db', 'forget', 'kennels')).toMatchObject({ status: 0 });
    await service.stop();
  });

  it('is named by db revert, if the last migration belongs to a removed extension', async () => {
    const { status, all } = await cli('db', 'revert');
    expect(status).toBe(1);
    expect(all).toContain('Run "db forget kennels"');
    expect((await withKennels('db', 'revert')).out).toBe(`Reverted ${NAME}.\n`);
  });

  it('is rejected in a database of a newer version of the store', async () => {
    await database.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later')`);
    expect((await cli('db', 'status')).out).toMatch(/^newer {4}Later$/m);
    expect((await cli('db', 'forget', 'kennels')).all).toMatch(
      /^The database was migrated by a newer version/,
    );
  });
});
