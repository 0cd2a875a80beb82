import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { version } from '../../src/app/store';
import { createDatabase, type TestDatabase } from '../support/database';
import { migrations, schemaConfig } from '../support/schema-config';
import { backup, backupFolder, messageOf, relationsOf, restore } from './support/backups';

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
  const replaced = (from: string | RegExp, to: string) => rewritten((text) => text.replace(from, to));
  const damagedAt = (share: number) =>
    changed((bytes) => {
      const at = Math.floor(share * (bytes.length - 1));
      bytes[at] = bytes[at]! ^ 0x10;
      return bytes;
    });
  const truncatedAfter = (share: number) =>
    changed((bytes) => bytes.subarray(0, Math.floor(share * (bytes.length - 1))));

  const CANNOT =
    /^The backup .* cannot be restored \(.*\): nothing was restored\. If the file is damaged, use another/;

  it.each<[string, file: () => string]>([
    ...[0, 0.5, 1].flatMap((share): [string, () => string][] => [
      [`has one wrong byte at ${share} of its length`, () => damagedAt(share)],
      [`is truncated after ${share} of its length`, () => truncatedAfter(share)],
    ]),
    ['has one table less', () => replaced(/\{"table":"pets"\}\n[^]*?\n\\\.\n/, '')],
    ['has no last line', () => replaced(/\{"sequences".*\n/, '')],
    ['has a value that is not a number', () => replaced(/^7\t/m, 'seven\t')],
    ['has a header without tables', () => replaced(/"tables":.*/, '"tables":7}')],
    ['has no content', () => rewritten(() => '')],
    ['has another format', () => rewritten(() => '{"format":"another"}\n')],
    ['is not compressed', () => changed((bytes) => gunzipSync(bytes))],
  ])('%s', async (_what, file) => {
    await expectRejection(file(), CANNOT);
  });

  const WRONG = /^The backup .* cannot be restored \(no migration creates the table .*\): nothing was/;

  it.each<readonly [from: string, to: string]>([
    ['"table":"pets"', '"table":"pets; DROP TABLE store_orders; --"'],
    ['"table":"pets"', '"table":"pg_catalog.pg_authid"'],
    ['"columns":"id, name', `"columns":"id) FROM PROGRAM 'id' --, name`],
  ])('has %j replaced by %j', async (from, to) => {
    await expectRejection(
      rewritten((text) => text.replaceAll(from, to)),
      WRONG,
    );
  });

  it('is of another format or a newer schema', async () => {
    const lacks = (part: string) => `This program lacks the ${part} of Animal Store.`;
    for (const format of [1, 3]) {
      const path = replaced(`"version":2,"program":"${version}"`, `"version":${format},"program":"3.0.0"`);
      expect(await messageOf(restore(target, path))).toBe(
        lacks(`format ${format} of the backup: restore it with version 3.0.0`),
      );
    }
    const older = { ...schemaConfig(target.url), migrations: migrations.slice(0, -1) };
    expect(await messageOf(restore(target, good, older))).toBe(
      lacks(`migration ${migrations.at(-1)?.name} of the backup: restore it with version ${version}`),
    );
    expect(await relationsOf(target)).toEqual([]);
  });

  it('has a table that no migration creates', async () => {
    const other = await createDatabase();
    await other.query('CREATE TABLE notes (note text)');
    await backup(other, folder.file('notes'));
    await other.drop();
    await expectRejection(folder.file('notes'), WRONG);
  });

  it('finds a store or a table of the same name in the target, and does not change it', async () => {
    expect(await messageOf(restore(source, good))).toMatch(/^The database is not empty: /);
    const other = await createDatabase('template0');
    await other.query('CREATE TABLE pets (name text)');
    expect(await messageOf(restore(other, good))).toMatch(/^The database belongs to another program/);
    expect(await relationsOf(other)).toEqual([{ relname: 'pets' }]);
    await other.drop();
  });

  it('loses the connection in the target, during a table', async () => {
    await target.administer(`
      CREATE FUNCTION spoil() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF to_regclass('pets') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'swallow') THEN
            CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS
              'BEGIN IF NEW.category_id = 7 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END';
            CREATE TRIGGER swallow BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION swallow();
          END IF;
        END $$;
      CREATE EVENT TRIGGER spoil ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION spoil()`);
    await expectRejection(good, /^The database cannot be used/);
    await target.administer('DROP EVENT TRIGGER spoil; DROP FUNCTION spoil');
  });
});
