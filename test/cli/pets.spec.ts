import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';

/** Names that a format could change, with their line of CSV. */
const NAMES = [
  ['a "quoted", name', '"a ""quoted"", name"'],
  ['\\. \\N \\t \\\\', '\\. \\N \\t \\\\'],
  [' spaces ', ' spaces '],
  ['"', '""""'],
  ["Zoë's 🐈 \u2028 \uFEFF", "Zoë's 🐈 \u2028 \uFEFF"],
  ['NULL', 'NULL'],
  ['{"a":1}', '"{""a"":1}"'],
] as const;

describe('pets export and pets import', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pets-'));
  const fileOf = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));

  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  beforeEach(() => database.truncate('pets RESTART IDENTITY CASCADE'));
  afterAll(() => database.drop());

  const pets = (...args: string[]) => runCli(['pets', ...args], { DATABASE_URL: database.url });
  /** Imports a file with this text. */
  const read = (name: string, text: string, ...options: string[]) => {
    writeFileSync(fileOf(name), text);
    return pets('import', fileOf(name), ...options);
  };
  const rows = () => database.query('SELECT name, category_id, status FROM pets ORDER BY id');

  it.each(['csv', 'jsonl'])(
    '%s: an import of an export adds equal animals, also of odd names, an event for each, and one audit entry',
    async (format) => {
      await database.query(
        `INSERT INTO pets (name, category_id, status) SELECT name, -9223372036854775808, 'sold' FROM unnest($1::text[]) AS name`,
        [NAMES.map(([name]) => name)],
      );
      const before = await rows();
      const created = () => database.query(`SELECT FROM events WHERE type = 'pet.created'`);
      const { length } = await created();
      const { all: text } = await pets('export', '--format', format);
      const lines = NAMES.map(([name, csv], at) =>
        format === 'csv'
          ? `${at + 1},${csv},-9223372036854775808,sold\n`
          : `{"id":${at + 1},"name":${JSON.stringify(name)},"categoryId":-9223372036854775808,"status":"sold"}\n`,
      );
      expect(text).toBe(`${format === 'csv' ? 'id,name,categoryId,status\n' : ''}${lines.join('')}`);
      const file = fileOf(`all.${format}`);
      expect((await read(`all.${format}`, text)).all).toBe(`Imported 7 animals of ${file}.\n`);
      expect(await rows()).toEqual([...before, ...before]);
      expect(await created()).toHaveLength(length + NAMES.length);
      const [entry] = await database.query(
        'SELECT command, details FROM audit_entries ORDER BY id DESC LIMIT 1',
      );
      expect(entry).toEqual({ command: 'pets import', details: '7 animals' });
    },
  );

  it('names the first 20 bad lines and the number of the others, imports nothing; --json has the same', async () => {
    const text = `{"name":"Rex","categoryId":1}\n${'{}\n'.repeat(3_000)}`;
    const { status, out, all } = await read('many.jsonl', text);
    const lines = out.split('\n');
    expect([status, lines.length, lines.at(-2)]).toEqual([1, 22, 'and 2980 more']);
    expect(lines[0]).toBe('line 2: name is missing; categoryId is missing');
    expect(all).toContain('bad lines (3000): nothing was imported.');
    const { json } = await read('many.jsonl', text, '--json');
    expect(json()).toMatchObject({ valid: 1, bad: 3_000, imported: 0 });
    expect(json().problems[19]).toEqual({ line: 21, problems: ['name is missing', 'categoryId is missing'] });
    expect(await rows()).toEqual([]);
  });

  it('opens no transaction before its input has ended: a pipe that stalls holds back no event', async () => {
    const pipe = fileOf('pipe.jsonl');
    execFileSync('mkfifo', [pipe]);
    const run = pets('import', pipe);
    const writer = await open(pipe, 'w');
    // More than a pipe holds, so that the command has read the first part.
    await writer.write('{"name":"Rex","categoryId":1}\n'.repeat(3_000));
    const transactions = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start IS NOT NULL`;
    expect(await database.query(transactions)).toEqual([]);
    await writer.close();
    expect(await run).toMatchObject({ status: 0, all: `Imported 3000 animals of ${pipe}.\n` });
  });

  it('--dry-run checks all lines, writes nothing, and fails as the import would', async () => {
    const good = '{"id":5,"name":"Rex","categoryId":1}\n';
    const { json, status } = await read('dry.jsonl', good, '--dry-run', '--json');
    expect([status, json()]).toEqual([
      0,
      { file: fileOf('dry.jsonl'), valid: 1, bad: 0, imported: 0, problems: [] },
    ]);
    expect(await read('dry.jsonl', `${good}{}\n`, '--dry-run')).toMatchObject({ status: 1 });
    expect(await rows()).toEqual([]);
  });

  it.each([
    ['missing.csv', /^The file .*missing\.csv cannot be read: .*\.\n$/],
    ['.', /^\/.* is a folder\. Give the name of a file\.\n$/],
  ])('exits with a sentence if the file is %s', async (name, sentence) => {
    const failed = { status: 1, out: '', all: expect.stringMatching(sentence) };
    expect(await pets('import', fileOf(name))).toMatchObject(failed);
  });
});
