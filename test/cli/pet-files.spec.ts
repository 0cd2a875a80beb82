import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { PetFile, type PetFormat } from '../../src/cli/pet-file';

const BOM = '\uFEFF';
const ROWS = ['Rex\t3\tavailable\n', 'Zoë\t3\tsold\n'];
const LAST = '9223372036854775807';

/** JSON lines with Rex and Zoë, as programs write them. */
const JSON_LINES = [
  [
    'PowerShell',
    `${BOM}{"name":"Rex","categoryId":3}\r\n{"name":"Zo\\u00eb","categoryId":3,"status":"sold"}\r\n`,
  ],
  ['PostgreSQL', '{"name":"Rex","categoryId":3}\n{"name":"Zoë","categoryId":3.0,"status":"sold"}\n'],
  ['jq -c', '\n{"name":"Rex","categoryId":3}\n{"unknown":[1],"categoryId":3,"name":"Zoë","status":"sold"}'],
] as const;

const COLUMNS = ['name', 'categoryId', 'status'];
const EXCEL = {
  head: BOM,
  separator: ',',
  end: '\r\n',
  quotes: 'needed',
  columns: COLUMNS,
  empty: false,
  titles: false,
  last: true,
};
type Dialect = typeof EXCEL;
type Row = Readonly<Record<string, string>>;

const REX: Row = { name: 'Rex', categoryId: '3', status: '', note: 'a\nb', '': '0' };
const ZOE: Row = { name: 'Zoë', categoryId: '3', status: 'sold', note: 'c\n\nd, "e"', '': '1' };
/** Dialects of Excel, LibreOffice, PowerShell, pandas, Google Sheets, databases and R. */
const SEEN: Partial<Dialect>[] = [
  { separator: ';' },
  { head: '', separator: '\t', last: false },
  { end: '\r' },
  { columns: [...COLUMNS, '', ''], empty: true },
  { columns: ['note', ...COLUMNS] },
  { columns: [...COLUMNS, 'note'], separator: ';', last: false },
  { quotes: 'all', titles: true },
  { head: '', columns: ['', ...COLUMNS], quotes: 'texts', end: '\n' },
];

const word = fc
  .string({ unit: fc.constantFrom(...Array.from('aZé🐈 .N\\"\',;|{')), minLength: 1, maxLength: 8 })
  .filter((each) => each.trim() !== '');
const row = fc.record({
  name: word,
  categoryId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  status: fc.constantFrom('', 'available', 'pending', 'sold'),
  note: fc.oneof(word, fc.constantFrom('', 'a\n\nb', '\\.\n"\\."')),
  '': fc.constant(''),
});
const dialect: fc.Arbitrary<Dialect> = fc.record({
  head: fc.constantFrom('', BOM),
  separator: fc.constantFrom(',', ';', '\t'),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  quotes: fc.constantFrom('all', 'texts', 'needed'),
  columns: fc.shuffledSubarray([...COLUMNS, 'note', ''], { minLength: 5 }),
  empty: fc.boolean(),
  titles: fc.boolean(),
  last: fc.boolean(),
});

function written(
  { head, separator, end, quotes, columns, empty, titles, last }: Dialect,
  rows: readonly Row[],
): string {
  const quoted = (value: string) => {
    const isText = !/^-?\d+$/.test(value);
    const isQuoted = quotes === 'all' || (quotes === 'texts' && isText) || /[",;\t\r\n]/.test(value);
    return isQuoted ? `"${value.replaceAll('"', '""')}"` : value;
  };
  const names = titles ? columns.map((name) => name.replace('Id', ' ID').toUpperCase()) : columns;
  const records = [names, ...rows.map((each) => columns.map((column) => each[column]!))];
  const lines = records.map((values) => values.map(quoted).join(separator));
  if (empty) lines.push(separator.repeat(columns.length - 1));
  return head + lines.join(end) + (last ? end : '');
}

const header = 'name,categoryId\n';
const json = (text: string) => [text, 'jsonl'] as const;

/** Broken files with the beginning of their reason: those that end the import, then bad lines. */
const BROKEN: readonly (readonly [reason: RegExp, text: string | Buffer, format?: PetFormat])[] = [
  [/is not text in UTF-8: save it/, Buffer.from('name,categoryId,Größe\n', 'latin1')],
  [/is not text in UTF-8/, Buffer.from(`${header}Zoë,3\n`, 'latin1')],
  [/is not text in UTF-8/, Buffer.from(`${header}Zoë`).subarray(0, -1)],
  [/is not text in UTF-8/, Buffer.from(`${BOM}{"name":"Rex"}`, 'utf16le'), 'jsonl'],
  [/is not text in UTF-8/, Buffer.from([0x1f, 0x8b, 8, 0])],
  [/: Invalid Opening Quote.* at line 1/, 'na"me,categoryId\n'],
  [/: Quote Not Closed.* line 3\.$/, `${header}Rex,1\n"Bo,1`],
  [/: Invalid Closing Quote.* line 4 /, `${header}Rex,1\n"Bo,1\nBo"x,1\n`],
  [/^The first line of .* must name the columns, such as/, 'Rex,3\n'],
  [/must name the columns/, ''],
  [/must name the columns/, 'name|categoryId\nRex|3\n'],
  [/has the column name twice/, 'name,categoryId,Name\nRex,3,Bo\n'],
  [/has the column id twice/, `${BOM}id,name,categoryId,"id"\n`],
  [/: Max Record Size: .* at line 2\.$/, `${header}${'x'.repeat(140_000)}`],
  [/^Line 1 of .* is longer than/, ...json(`{"name":"${'x'.repeat(140_000)}`)],
  [/^4: categoryId must be an integer$/, `note,${header}"a\nb",Rex,1\nc,Rex,x\n`],
  [/^3: name must be .*no control/, `${header}"Re\nx",1\n`],
  [/^2: the number of values is 3, and of columns 2$/, `${header}Rex,1,2\n`],
  [/^2: the number of values is 1, and of columns 2$/, `${header}Rex;1\n`],
  [/^2: categoryId must be an integer$/, `${header}Rex,3.5\n`],
  [/^2: categoryId must be an integer$/, `${header}Rex,"1,000"\n`],
  [/^2: categoryId must be an integer from -/, `${header}Rex,9223372036854775808\n`],
  [/^2: categoryId is missing$/, `${header}Rex,\n`],
  [/^3: name is missing; 4: categoryId is missing/, `${header}\n,1\nRex,\n`],
  [/^2: status must be one of/, 'name,categoryId,status\nRex,1,Sold\n'],
  [/^3: id must be larger/, 'id,name,categoryId\n7,Rex,1\n7,Bo,1\n'],
  [/^3: id must be in each line or in none/, 'id,name,categoryId\n7,Rex,1\n,Bo,1\n'],
  [/^2: id must be an integer from .* to 9223372036854775806$/, `id,name,categoryId\n${LAST},Rex,1\n`],
  [
    /^1: id must be an integer from .* to 9223372036854775806$/,
    ...json(`{"id":${LAST},"name":"Rex","categoryId":1}\n`),
  ],
  [/^2: id must be an integer from -/, 'id,name,categoryId\n9223372036854775808,Rex,1\n'],
  [/^2: name is missing$/, ...json('{"name":"Rex","categoryId":1}\r\n{"categoryId":1}\r\n')],
  [/^1: the line must be a JSON object/, ...json('[{"name":"Rex","categoryId":1}]\n')],
  [/^1: the line is not acceptable JSON: it cannot be parsed/, ...json('{\n')],
  [/^3: name is missing, categoryId is missing$/, ...json('{"name":"Rex","categoryId":1}\n\n{}\n')],
  [/^1: categoryId must be an integer$/, ...json('{"name":"Rex","categoryId":"1"}')],
];

/** Jest would call a missing format `done`. */
const withFormat = <A, B>(rows: readonly (readonly [A, B, PetFormat?])[]) =>
  rows.map(([first, text, format = 'csv']): [A, B, PetFormat] => [first, text, format]);

describe('a file of animals', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pet-files-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function read(text: string | Buffer, format: PetFormat = 'csv') {
    const path = join(folder, 'pets');
    writeFileSync(path, text);
    const file = new PetFile(path, format, () => undefined);
    await file.read();
    return {
      rows: String(Buffer.concat(file.parts)),
      problems: file.problems.map(({ line, problems }) => `${line}: ${problems.join(', ')}`),
    };
  }

  it('is read as any program writes CSV', async () => {
    const property = fc.asyncProperty(dialect, fc.array(row, { maxLength: 5 }), async (given, rows) => {
      const lines = rows.map(
        ({ name, categoryId, status }) =>
          `${name.replaceAll('\\', '\\\\')}\t${categoryId}\t${status || 'available'}\n`,
      );
      expect(await read(written(given, rows))).toEqual({ rows: lines.join(''), problems: [] });
    });
    const examples = SEEN.map((each): [Dialect, any[]] => [{ ...EXCEL, ...each }, [REX, ZOE]]);
    await fc.assert(property, { examples, numRuns: 60 });
  });

  it('has the integers of createPet, also as pandas and R write them', async () => {
    expect(await read(`${header}Rex,3.0\nBo,1e+05\n`)).toEqual({
      rows: 'Rex\t3\tavailable\nBo\t100000\tavailable\n',
      problems: [],
    });
  });

  it.each(JSON_LINES)('is read as %s writes JSON lines', async (_program, text) => {
    expect(await read(text, 'jsonl')).toEqual({ rows: ROWS.join(''), problems: [] });
  });

  it.each(withFormat(BROKEN))('has the line and the reason %s', async (reason, text, format) => {
    const told = await read(text, format).then(
      ({ problems }) => problems.join('; '),
      (error: Error) => error.message,
    );
    expect(told).toMatch(reason);
  });

  it('is read the same wherever its parts end', async () => {
    const head = `${BOM}note,name,categoryId,status\r\n"`;
    const tail = `",Bo,1,sold\r\n"a ""\r\nb""",Rex,3,\r\n"",Zoë,3,sold`;
    // The first part, of 64 KiB, ends at each byte of the tail.
    const longest = 65_536 - Buffer.byteLength(head);
    for (let length = longest - Buffer.byteLength(tail); length <= longest; length += 1) {
      const text = `${head}${'x'.repeat(length)}${tail}`;
      expect(await read(text)).toEqual({ rows: `Bo\t1\tsold\n${ROWS.join('')}`, problems: [] });
    }
  });

  it('by a slow pipe has the separator of its whole first line', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const shown: (() => void)[] = [];
    const file = new PetFile(path, 'csv', () => shown.shift()?.());
    const reading = file.read();
    const pipe = await open(path, 'w');
    for (const part of ['name', ';categ', 'oryId;status\nRex;3;\n', 'Zoë;3;sold\n']) {
      const isRead = new Promise<void>((resolve) => shown.push(resolve));
      await pipe.write(part);
      await Promise.race([isRead, reading]);
    }
    await pipe.close();
    await reading;
    expect(String(Buffer.concat(file.parts))).toBe(ROWS.join(''));
  });

  it('that is only checked leaves no rows in memory', async () => {
    const path = join(folder, 'checked');
    writeFileSync(path, `${header}${'Rex,3\n'.repeat(20_000)}`);
    const file = new PetFile(path, 'csv', () => undefined, true);
    await file.read();
    expect(file).toMatchObject({ animals: 20_000, badLines: 0 });
    expect(Buffer.concat(file.parts)).toHaveLength(0);
  });
});
