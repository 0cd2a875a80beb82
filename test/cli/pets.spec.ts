import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../support/cli';
import { createDatabase, type TestDatabase } from '../support/database';
import { NO_SETTINGS } from '../support/no-settings';

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

const ALL = 'SELECT * FROM pets ORDER BY id';

describe('pets export and pets import', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pets-'));
  const fileOf = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));

  let database: TestDatabase;
  let other: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
    other = await createDatabase();
  });
  afterEach(async () => {
    await database.drop();
    await other.drop();
  });

  const pets = (args: readonly string[], { url } = database) =>
    runCli(['pets', ...args], { DATABASE_URL: url });
  /** Imports a file with this text. */
  const read = (name: string, text: string | Buffer, ...options: string[]) => {
    writeFileSync(fileOf(name), text);
    return pets(['import', fileOf(name), ...options]);
  };
  const rowsOf = (store: TestDatabase) => store.query(ALL);
  const add = (names: readonly string[]) =>
    database.query(
      `INSERT INTO pets (name, category_id, status) SELECT name, -9223372036854775808, 'sold' FROM unnest($1::text[]) AS name`,
      [names],
    );
  const addNames = async () => {
    await add(NAMES.map(([name]) => name));
    await database.query('DELETE FROM pets WHERE id IN (1, 3)');
  };

  it.each(['csv', 'jsonl'])(
    '%s: an import of an export makes an equal table and an event for each animal, and ids continue',
    async (format) => {
      await addNames();
      const file = fileOf(`all.${format}`);
      expect(await pets(['export', file])).toMatchObject({ status: 0, all: `Wrote 5 animals to ${file}.\n` });
      expect(await pets(['import', file], other)).toMatchObject({
        status: 0,
        all: `Imported 5 animals of ${file}.\n`,
      });
      const rows = await rowsOf(other);
      expect(rows).toEqual(await rowsOf(database));
      const [next] = await other.query(
        `INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'sold') RETURNING id`,
      );
      expect(next).toEqual({ id: '8' });
      const [entry] = await other.query(
        `SELECT command, details FROM audit_entries WHERE command LIKE 'pets%'`,
      );
      expect(entry).toEqual({ command: 'pets import', details: '5 animals' });
      expect(await other.query(`SELECT FROM events WHERE type = 'pet.created'`)).toHaveLength(6);
    },
  );

  it('exports to standard output: JSON lines as the API has them, or CSV (RFC 4180) with a header', async () => {
    await add(NAMES.map(([name]) => name));
    const jsonl = await pets(['export']);
    const lines = NAMES.map(
      ([name], at) =>
        `{"id":${at + 1},"name":${JSON.stringify(name)},"categoryId":-9223372036854775808,"status":"sold"}\n`,
    );
    expect(jsonl).toMatchObject({ status: 0, all: lines.join('') });
    const csv = await pets(['export', '--format', 'csv']);
    const records = NAMES.map(([, text], at) => `${at + 1},${text},-9223372036854775808,sold\n`);
    expect(csv).toMatchObject({ status: 0, all: `id,name,categoryId,status\n${records.join('')}` });
  });

  it('exports to a new file only, unless --force is given; --json needs a file', async () => {
    const file = fileOf('existing.csv');
    writeFileSync(file, 'old');
    expect(await pets(['export', file])).toMatchObject({
      status: 1,
      all: expect.stringContaining('--force'),
    });
    expect(readFileSync(file, 'utf8')).toBe('old');
    expect((await pets(['export', file, '--force', '--json'])).json()).toEqual({
      file,
      format: 'csv',
      animals: 0,
    });
    expect(readFileSync(file, 'utf8')).toBe('id,name,categoryId,status\n');
    for (const name of [[], ['-']])
      expect(await pets(['export', ...name, '--json'])).toMatchObject({ status: 2, out: '' });
  });

  it.each([
    [
      'lines.jsonl',
      '\n{"name":"Rex","categoryId":1e3,"unknown":[1]}\r\n\n{"categoryId":9007199254740993,"name":"Bo","status":"sold"}',
    ],
    [
      'columns.csv',
      '\uFEFFstatus,"name",note,categoryId\r\n,Rex,"a, b",1000\r\nsold,"Bo",,9007199254740993\r\n\r\n',
    ],
  ])(
    'imports %s: blank lines, line ends of Windows, any order, defaults, and members that an animal lacks',
    async (name, text) => {
      await add(['first']);
      expect(await read(name, text)).toMatchObject({ status: 0 });
      expect((await rowsOf(database)).slice(1)).toEqual([
        { id: '2', name: 'Rex', category_id: '1000', status: 'available' },
        { id: '3', name: 'Bo', category_id: '9007199254740993', status: 'sold' },
      ]);
    },
  );

  it('names each bad line of JSON with its number and its fields, and imports nothing', async () => {
    const text =
      '{"name":"Rex","categoryId":1}\n{"name":"","categoryId":1.5}\n[]\n\n{"name":"Bo"\n{"name":"\\ud800","categoryId":"7"}\n';
    const { status, out, all } = await read('bad.jsonl', text);
    expect(status).toBe(1);
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^line 2: name must be .*; categoryId must be an integer/),
      'line 3: the line must be a JSON object',
      expect.stringMatching(/^line 5: the line is not acceptable JSON: it cannot be parsed/),
      expect.stringMatching(/^line 6: name must be .*; categoryId must be an integer$/),
      '',
    ]);
    expect(all).toContain('bad lines (4): nothing was imported.');
    expect(await rowsOf(database)).toEqual([]);
  });

  it('names the first 20 bad lines and the number of the others; --json has the same in one document', async () => {
    const text = `{"name":"Rex","categoryId":1}\n${'{}\n'.repeat(30_000)}`;
    const { status, out } = await read('many.jsonl', text);
    expect([status, out.split('\n').length, out.split('\n').at(-2)]).toEqual([1, 22, 'and 29980 more']);
    const { json } = await read('many.jsonl', text, '--json');
    expect(json()).toMatchObject({ valid: 1, bad: 30_000, imported: 0 });
    expect(json().problems[19]).toEqual({ line: 21, problems: expect.any(Array) });
    expect(await rowsOf(database)).toEqual([]);
  });

  it('imports standard input by its descriptor: a socket cannot be opened again, nor a pipe of another user', () => {
    const args = ['-r', './test/support/typescript.cjs', '-e', `require('./src/cli/main')`, '--', ''];
    const { stdout, stderr } = spawnSync(process.execPath, [...args, 'pets', 'import', '-', '--format=csv'], {
      input: 'name,categoryId\nRex,1\n',
      env: { ...process.env, ...NO_SETTINGS, DATABASE_URL: database.url },
      encoding: 'utf8',
    });
    expect([stdout, stderr]).toEqual(['Imported 1 animal of standard input.\n', '']);
  });

  it('opens no transaction before its input has ended: a pipe that stalls holds back no event', async () => {
    const pipe = fileOf('pipe.jsonl');
    execFileSync('mkfifo', [pipe]);
    const run = pets(['import', pipe]);
    const writer = await open(pipe, 'w');
    // More than a pipe holds, so that the command has read the first part.
    await writer.write('{"name":"Rex","categoryId":1}\n'.repeat(9_000));
    const transactions = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start IS NOT NULL`;
    expect(await database.query(transactions)).toEqual([]);
    await writer.close();
    expect(await run).toMatchObject({ status: 0, all: `Imported 9000 animals of ${pipe}.\n` });
  });

  it('exits with a sentence if the temporary folder cannot be written; --dry-run needs none', async () => {
    const environment = { DATABASE_URL: database.url, TMPDIR: '/dev/null' };
    writeFileSync(fileOf('one.jsonl'), '{"name":"Rex","categoryId":1}\n');
    const command = ['pets', 'import', fileOf('one.jsonl')];
    expect(await runCli(command, environment)).toMatchObject({
      status: 1,
      all: 'The temporary folder /dev/null cannot be written (ENOTDIR): set TMPDIR to one with enough space.\n',
    });
    expect(await runCli([...command, '--dry-run'], environment)).toMatchObject({ status: 0 });
  });

  it('--dry-run checks all lines, writes nothing, and fails as the import would', async () => {
    const good = '{"id":5,"name":"Rex","categoryId":1}\n';
    const { json, status } = await read('dry.jsonl', good, '--dry-run', '--json');
    expect([status, json()]).toEqual([
      0,
      { file: fileOf('dry.jsonl'), valid: 1, bad: 0, imported: 0, problems: [] },
    ]);
    expect(await read('dry.jsonl', `${good}{}\n`, '--dry-run')).toMatchObject({ status: 1 });
    expect(await rowsOf(database)).toEqual([]);
    await add(['first']);
    expect(await read('dry.jsonl', good, '--dry-run')).toMatchObject({ status: 1 });
  });

  it('rejects a file with ids if the store has animals', async () => {
    await add(['first']);
    expect(await read('ids.csv', 'id,name,categoryId\n7,Rex,1\n')).toMatchObject({
      status: 1,
      all: expect.stringContaining('Remove the ids, or import into a store without animals.'),
    });
    expect(await rowsOf(database)).toHaveLength(1);
  });

  it.each([
    ['pets.txt', '', 2, '--format'],
    ['missing.csv', undefined, 1, 'cannot be read'],
    ['missing.csv/none.csv', undefined, 1, 'cannot be read'],
    [`${'x'.repeat(300)}.csv`, undefined, 1, 'cannot be read'],
    ['', undefined, 1, '^\\S+ is a folder: name a file\\.\n$', '--format=csv'],
    ['empty.csv', '', 1, 'must name the columns'],
  ])('exits with a sentence for %s', async (name, text, status, sentence, ...options: string[]) => {
    const run = text === undefined ? pets(['import', fileOf(name), ...options]) : read(name, text);
    expect(await run).toMatchObject({ status, out: '', all: expect.stringMatching(sentence) });
  });
});
