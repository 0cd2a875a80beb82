import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrate';
import { CopySource } from '../../src/platform/database/copy/copy-source';
import { forgetExtension, revertLast } from '../../src/platform/database/revert';
import { kennels } from '../modules/support/kennels.extension';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { migrations, schemaConfig } from '../support/schema-config';
import { until } from '../support/until';
import { backup, backupFolder, restore } from './support/backups';
import { contentOf, messageOf } from './support/copying';
import { configWith } from './support/extensions';

/** Characters that COPY's text format escapes, its end of rows, and characters with more than one code point. */
const NAME = '\\. \\t \\N "quoted", back\\slash\\ — 猫 🐈‍⬛ \u2028 \u00a0';
const LARGE_ID = 9_007_199_254_740_993n;

describe('a backup', () => {
  const folder = backupFolder();
  let source: TestDatabase;
  let target: TestDatabase;
  beforeAll(async () => {
    source = await createDatabase();
    const create = ['keys', 'create', '--account', 'acme', '--label', NAME];
    expect((await runCli(create, { DATABASE_URL: source.directUrl })).status).toBe(0);
    // The API rejects control characters, but older rows may contain them. The rows need several blocks.
    const controls = 'tab\t line\n\\.\n return\r backspace\b escape\u001b';
    await source.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT name, -n, 'sold' FROM generate_series(1, 3000) AS n, unnest($1::text[]) AS name`,
      [[NAME, controls]],
    );
    await source.query(`ALTER TABLE pets ALTER COLUMN id RESTART WITH ${LARGE_ID}`);
    // No order has this id yet.
    await source.query(`ALTER TABLE store_orders ALTER COLUMN id RESTART WITH ${LARGE_ID}`);
  });
  beforeEach(async () => {
    target = await createDatabase('template0');
  });
  afterEach(() => target.drop());
  afterAll(async () => {
    await source.drop();
    folder.remove();
  });

  it('restores every row of every table, and the exact position of every sequence', async () => {
    const file = folder.file('all');
    const written = await backup(source, file);
    const restored = await restore(target, file);
    const expected = await contentOf(source);
    expect(await contentOf(target)).toEqual(expected);
    expect(restored).toEqual({ createdAt: written.createdAt, tables: written.tables, migrated: [] });
    const tables = Object.keys(expected).filter((name) => !name.endsWith('_seq'));
    expect(written.tables.map(({ table }) => table).toSorted()).toEqual(tables);
    for (const { table, rows } of written.tables) expect(expected[table]).toHaveLength(rows);
    expect(written.bytes).toBe(statSync(file).size);
    expect((await migrate(schemaConfig(target.url))).applied).toEqual([]);
  });

  it('has the state of one moment: all rows committed before it, and none committed during the backup', async () => {
    const file = folder.file('moment');
    const before = await contentOf(source);
    const writer = new Client({ connectionString: source.url });
    await writer.connect();
    await writer.query('BEGIN; LOCK TABLE pets');
    const writing = backup(source, file);
    await until(async () => (await source.query(WAITING_LOCKS)).length === 1);
    await writer.query(`INSERT INTO pets (name, category_id, status) VALUES ('late', 1, 'sold'); COMMIT`);
    await writer.end();
    await writing;
    await restore(target, file);
    expect((await contentOf(target))['pets']).toEqual(before['pets']);
  });

  it('only its owner may read; it appears when it is complete, and replaces a file only if told to', async () => {
    const file = folder.file('mode');
    await backup(source, file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, 'precious');
    expect(await messageOf(backup(source, file))).toMatch(/mode exists: .*--force\.$/);
    expect(readFileSync(file, 'utf8')).toBe('precious');
    await backup(source, file, { isReplacing: true });
    await restore(target, file);
    expect(readdirSync(folder.path).filter((name) => name.startsWith('mode'))).toEqual(['mode']);
  });

  it('is text that gunzip shows, with JSON lines around the rows', async () => {
    const file = folder.file('text');
    await backup(source, file);
    const lines = gunzipSync(readFileSync(file)).toString().split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({
      format: 'animal-store-backup',
      version: 1,
      program: '1.0.0',
    });
    const start = lines.indexOf('{"table":"migrations"}');
    expect(lines.slice(start + 1, lines.indexOf('\\.', start))).toHaveLength(migrations.length);
    expect(JSON.parse(lines.at(-2)!)).toEqual({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('never replaces a link, such as /dev/stdout, or a folder, and needs a folder that exists', async () => {
    const link = folder.file('link');
    symlinkSync('/dev/null', link);
    for (const path of [link, folder.path]) {
      expect(await messageOf(backup(source, path, { isReplacing: true }))).toMatch(
        /is not a regular file: give another name\.$/,
      );
    }
    expect(readlinkSync(link)).toBe('/dev/null');
    expect(await messageOf(backup(source, folder.file('missing/file')))).toMatch(
      /^The file .* cannot be written \(ENOENT\)/,
    );
  });

  it('leaves no file if the connection to the database breaks', async () => {
    const blocker = new Client({ connectionString: source.url });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE pets');
    const message = messageOf(backup(source, folder.file('broken')));
    await until(async () => (await source.query(WAITING_LOCKS)).length === 1);
    await source.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LOCK TABLE accounts%'`,
    );
    await blocker.end();
    expect(await message).toMatch(/^The database failed during the backup \(.*\): no file was written/);
    expect(existsSync(folder.file('broken'))).toBe(false);
  });

  it.each(['database', 'disk'])(
    'distinguishes a failure of the database from one of the disk: %s',
    async (failing) => {
      const copied = await CopySource.open(source.url);
      // More rows than the buffers of both sides hold.
      const rows = copied.readRows({ table: 'pets, generate_series(1, 500)', columns: 'name' });
      await rows.next();
      const readAll = async () => {
        while (!(await rows.next()).done);
      };
      if (failing === 'database') await source.query(END_COPIES);
      await expect(failing === 'disk' ? rows.throw(new Error('full')) : readAll()).rejects.toThrow(
        failing === 'disk' ? 'full' : /terminat/,
      );
      expect(copied.hasFailed).toBe(failing === 'database');
      await copied.close();
    },
  );

  it('of an earlier schema is restored, and then has the schema of this program', async () => {
    const [earlier, file] = [await createDatabase(), folder.file('older')];
    await earlier.query(`INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'available')`);
    const reverted: string[] = [];
    while (reverted.length < 3) reverted.unshift((await revertLast(schemaConfig(earlier.url)))!);
    const before = await contentOf(earlier);
    await backup(earlier, file);
    const { migrated } = await restore(target, file);
    expect([...migrated].toSorted()).toEqual(reverted.toSorted());
    const after = await contentOf(target);
    expect(after['accounts']).toEqual(before['accounts']);
    expect(await target.query('SELECT name FROM pets')).toEqual([{ name: 'Rex' }]);
    expect(await target.query('SELECT command FROM audit_entries')).toEqual([{ command: 'migrate' }]);
    await earlier.drop();
  });

  it('has the tables of a removed extension, which can be forgotten after the restore', async () => {
    const [extended, file] = [await createDatabase(), folder.file('extension')];
    await migrate(configWith(extended.url, kennels));
    await extended.query(`INSERT INTO kennels VALUES ('North')`);
    await backup(extended, file);
    await restore(target, file);
    expect(await contentOf(target)).toEqual(await contentOf(extended));
    expect(await forgetExtension(schemaConfig(target.url), 'kennels')).toHaveLength(1);
    await extended.drop();
  });
});

const END_COPIES = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND query LIKE 'COPY%' AND state = 'active'`;

const WAITING_LOCKS = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND query LIKE 'LOCK TABLE accounts%' AND wait_event_type = 'Lock'`;
