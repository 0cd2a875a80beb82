import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
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

const ALL = 'SELECT * FROM pets ORDER BY id';

describe('pets export and pets import', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pets-'));
  const fileOf = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));

  let database: TestDatabase;
  let other: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
    other = await createDatabase();
  });
  beforeEach(empty);
  afterAll(async () => {
    await database.drop();
    await other.drop();
  });
  async function empty() {
    for (const each of [database, other]) await each.truncate('pets RESTART IDENTITY CASCADE');
  }

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

  it.each(['csv', 'jsonl'])(
    '%s: an import of an export makes an equal table, also of odd names',
    async (format) => {
      const file = fileOf(`all.${format}`);
      const name = fc
        .string({
          unit: fc.constantFrom(...Array.from('aZé🐈 .N\\"\',;|{}\u2028')),
          minLength: 1,
          maxLength: 8,
        })
        .filter((each) => each.trim() !== '');
      const property = fc.asyncProperty(fc.array(name, { minLength: 20, maxLength: 40 }), async (names) => {
        await empty();
        await add(names);
        await database.query('DELETE FROM pets WHERE id IN (1, 3)');
        expect(await pets(['export', file, '--force'])).toMatchObject({ status: 0 });
        expect(await pets(['import', file], other)).toMatchObject({ status: 0 });
        expect(await rowsOf(other)).toEqual(await rowsOf(database));
      });
      await fc.assert(property, { examples: [[NAMES.map(([each]) => each)]], numRuns: 3 });
    },
  );

  it('makes an event for each animal and one audit entry, and continues the ids', async () => {
    const file = fileOf('continued.csv');
    await add(['one', 'two', 'three']);
    await database.query('DELETE FROM pets WHERE id = 1');
    const created = () => other.query(`SELECT FROM events WHERE type = 'pet.created'`);
    const { length } = await created();
    expect(await pets(['export', file])).toMatchObject({ status: 0, all: `Wrote 2 animals to ${file}.\n` });
    expect((await pets(['import', file], other)).all).toBe(`Imported 2 animals of ${file}.\n`);
    const [next] = await other.query(
      `INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'sold') RETURNING id`,
    );
    expect(next).toEqual({ id: '4' });
    const [entry] = await other.query('SELECT command, details FROM audit_entries ORDER BY id DESC LIMIT 1');
    expect(entry).toEqual({ command: 'pets import', details: '2 animals' });
    expect(await created()).toHaveLength(length + 3);
  });

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
    const text = `id,name,categoryId,status\n${records.join('')}`;
    expect(csv).toMatchObject({ status: 0, all: text });
    // Excel reads a file without the mark in the encoding of its country.
    expect(await pets(['export', '--format=csv', '--bom'])).toMatchObject({
      status: 0,
      all: `\uFEFF${text}`,
    });
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
    expect(await rowsOf(database)).toEqual([]);
  });

  it('opens no transaction before its input has ended: a pipe that stalls holds back no event', async () => {
    const pipe = fileOf('pipe.jsonl');
    execFileSync('mkfifo', [pipe]);
    const run = pets(['import', pipe]);
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
    expect(await rowsOf(database)).toEqual([]);
    await add(['first']);
    expect(await read('dry.jsonl', good, '--dry-run')).toMatchObject({ status: 1 });
  });

  it('rejects a file with ids if the store has animals, and adds those of one without', async () => {
    await add(['first']);
    expect(await read('ids.csv', 'id,name,categoryId\n7,Rex,1\n')).toMatchObject({
      status: 1,
      all: expect.stringContaining('Remove the ids, or import into a store without animals.'),
    });
    expect(await rowsOf(database)).toHaveLength(1);
    expect(await read('new.csv', 'name,categoryId\nRex,1\n')).toMatchObject({ status: 0 });
    expect(await rowsOf(database)).toHaveLength(2);
  });

  it.each([
    ['pets.txt', 2, '--format'],
    ['missing.csv', 1, 'cannot be read'],
    ['missing.csv/none.csv', 1, 'cannot be read'],
    [`${'x'.repeat(300)}.csv`, 1, 'cannot be read'],
    ['', 1, '^\\S+ is a folder: name a file\\.\n$', '--format=csv'],
  ])('exits with a sentence for %s', async (name, status, sentence, ...options: string[]) => {
    const run = await pets(['import', fileOf(name), ...options]);
    expect(run).toMatchObject({ status, out: '', all: expect.stringMatching(sentence) });
  });
});
