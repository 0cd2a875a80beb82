import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createDatabase, type TestDatabase } from '../support/database';
import { BackupReader } from '../../src/platform/database/backup/backup-reader';
import { migrations, schemaConfig } from '../support/schema-config';
import { backup, backupFolder, restore } from './support/backups';
import { messageOf, relationsOf } from './support/copying';

describe('a restore that is rejected', () => {
  const folder = backupFolder();
  const good = folder.file('good');
  let source: TestDatabase;
  let target: TestDatabase;
  beforeAll(async () => {
    source = await createDatabase();
    await source.query(`
      INSERT INTO pets (name, category_id, status)
      SELECT 'animal ' || md5(n::text), n, 'available' FROM generate_series(1, 2000) n`);
    await backup(source, good);
    target = await createDatabase('template0');
  });
  afterAll(async () => {
    await source.drop();
    await target.drop();
    folder.remove();
  });

  /** Expects one sentence, and a database without a change. */
  async function expectRejection(path: string, sentence: RegExp): Promise<void> {
    const message = await messageOf(restore(target, path));
    expect(message).toMatch(sentence);
    expect(message).not.toContain('\n');
    expect(await relationsOf(target)).toEqual([]);
  }

  function changed(change: (bytes: Buffer) => Buffer): string {
    const path = folder.file('changed');
    writeFileSync(path, change(readFileSync(good)));
    return path;
  }

  const rewritten = (change: (text: string) => string) =>
    changed((bytes) => gzipSync(change(gunzipSync(bytes).toString())));

  const NOT_WHOLE = /^The file .*changed is not a whole backup \(.*\): nothing was restored\. /;

  it.each([0, 0.5, 1])('has one wrong byte at %s of its length', async (share) => {
    const path = changed((bytes) => {
      const at = Math.floor(share * (bytes.length - 1));
      bytes[at] = bytes[at]! ^ 0x10;
      return bytes;
    });
    await expectRejection(path, NOT_WHOLE);
  });

  it.each([0, 0.5, 1])('is truncated after %s of its length', async (share) => {
    await expectRejection(
      changed((bytes) => bytes.subarray(0, Math.floor(share * (bytes.length - 1)))),
      NOT_WHOLE,
    );
  });

  it.each<[string, (text: string) => string]>([
    ['another value', (text) => text.replace('animal', 'anımal')],
    ['one row less', (text) => text.replace(/animal .*\n\d+\t/, '')],
    ['one table less', (text) => text.replace(/\{"table":"pets"\}\n[^]*?\n\\\.\n/, '')],
    ['no checksum', (text) => text.replace(/\{"sha256".*\n/, '')],
    ['text after its end', (text) => `${text}{}\n`],
    ['no content', () => ''],
    ['another format', () => '{"format":"another"}\n'],
  ])('has a valid compression and %s', async (_what, change) => {
    await expectRejection(rewritten(change), NOT_WHOLE);
  });

  it('is not compressed, is missing, or is a folder', async () => {
    await expectRejection(
      changed((bytes) => gunzipSync(bytes)),
      NOT_WHOLE,
    );
    await expectRejection(folder.file('missing'), /^The backup cannot be read \(ENOENT.*correct the name/);
    await expectRejection(folder.path, /^The backup cannot be read \(EISDIR/);
  });

  it('is another file when its rows are read', async () => {
    const other = rewritten((text) => text.replace('animal', 'anımal'));
    const readers = [BackupReader.open(good), BackupReader.open(other)] as const;
    jest.spyOn(BackupReader, 'open').mockReturnValueOnce(readers[0]).mockReturnValueOnce(readers[1]);
    await expectRejection(good, /^The file .*good changed during the restore: nothing was restored\. /);
  });

  it('is of a newer format', async () => {
    const path = rewritten((text) =>
      text.replace('"version":1,"program":"1.0.0"', '"version":2,"program":"3.0.0"'),
    );
    await expectRejection(path, /^The backup was written by Animal Store 3\.0\.0, in a newer format/);
  });

  it('is of a newer schema, as is the source for an older program', async () => {
    const older = { ...schemaConfig(target.url), migrations: migrations.slice(0, -1) };
    expect(await messageOf(restore(target, good, older))).toContain(
      `has the migration ${migrations.at(-1)?.name} of a newer version of Animal Store: restore it`,
    );
    expect(await relationsOf(target)).toEqual([]);
    const config = { ...older, databaseUrl: source.url };
    expect(await messageOf(backup(source, folder.file('newer'), { config }))).toMatch(/by a newer version/);
  });

  it('has a table that no migration creates', async () => {
    const other = await createDatabase();
    await other.query('CREATE TABLE notes (note text)');
    await backup(other, folder.file('notes'));
    await other.drop();
    await expectRejection(folder.file('notes'), /^No migration creates the table notes: nothing was copied/);
  });

  it('loses rows in the target: the numbers of rows are compared before the commit', async () => {
    await target.administer(`
      CREATE FUNCTION spoil() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF to_regclass('pets') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'swallow') THEN
            CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS
              'BEGIN IF NEW.category_id = 7 THEN RETURN NULL; END IF; RETURN NEW; END';
            CREATE TRIGGER swallow BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION swallow();
          END IF;
        END $$;
      CREATE EVENT TRIGGER spoil ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION spoil()`);
    await expectRejection(good, /^The table pets has 2000 rows, but 1999 arrived/);
  });
});
