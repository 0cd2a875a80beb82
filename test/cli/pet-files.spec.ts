import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
  ['jq -c', '{"name":"Rex","categoryId":3}\n{"categoryId":3,"name":"Zoë","status":"sold"}'],
] as const;

const COLUMNS = ['name', 'categoryId', 'status'];
/** The lines before the columns: ? is the separator. */
const HEADS = ['', BOM, 'sep=?\n', `${BOM}#TYPE System.Management.Automation.PSCustomObject\n`] as const;
const EXCEL = {
  head: BOM,
  separator: ',',
  end: '\r\n',
  quotes: 'needed',
  columns: COLUMNS,
  empty: false,
  last: '\r\n',
};
type Dialect = typeof EXCEL;
type Row = Readonly<Record<string, string>>;

const REX: Row = { name: 'Rex', categoryId: '3', status: '', note: 'a\nb', '': '0' };
const ZOE: Row = { name: 'Zoë', categoryId: '3', status: 'sold', note: 'c\n\nd, "e"', '': '1' };
/** Dialects of Excel, LibreOffice, PowerShell, pandas, Google Sheets, databases and R. */
const SEEN: Partial<Dialect>[] = [
  { separator: ';' },
  { head: HEADS[2], separator: ';' },
  { head: '', separator: '\t', last: '' },
  { end: '\r' },
  { columns: [...COLUMNS, '', ''], empty: true },
  { columns: ['note', ...COLUMNS] },
  { columns: [...COLUMNS, 'note'], separator: ';', last: '' },
  { head: HEADS[3], quotes: 'all' },
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
  head: fc.constantFrom(...HEADS),
  separator: fc.constantFrom(',', ';', '\t'),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  quotes: fc.constantFrom('all', 'texts', 'needed'),
  columns: fc.shuffledSubarray([...COLUMNS, 'note', ''], { minLength: 5 }),
  empty: fc.boolean(),
  last: fc.constantFrom('', '\n'),
});

function written(
  { head, separator, end, quotes, columns, empty, last }: Dialect,
  rows: readonly Row[],
): string {
  const quoted = (value: string) => {
    const isText = !/^-?\d+$/.test(value);
    const isQuoted = quotes === 'all' || (quotes === 'texts' && isText) || /[",;\t\r\n]/.test(value);
    return isQuoted ? `"${value.replaceAll('"', '""')}"` : value;
  };
  const records = [columns, ...rows.map((each) => columns.map((column) => each[column]!))];
  const lines = records.map((values) => values.map(quoted).join(separator));
  if (empty) lines.push(separator.repeat(columns.length - 1));
  return head.replace('?', separator).replace('\n', end) + lines.join(end) + last;
}

const header = 'name,categoryId\n';
const json = (text: string) => [text, 'jsonl'] as const;

/** Broken files with the beginning of their reason: those that end the import, then bad lines. */
const BROKEN: readonly (readonly [reason: RegExp, text: string | Buffer, format?: PetFormat])[] = [
  [/is UTF-16: save it as UTF-8/, Buffer.from(`${BOM}name,categoryId\r\nRex,3`, 'utf16le')],
  [/is UTF-16/, Buffer.from(`${BOM}name,categoryId\r\nRex,3`, 'utf16le').swap16()],
  [/is UTF-16/, Buffer.from('name,categoryId\r\nRex,3', 'utf16le')],
  [/is UTF-16/, Buffer.from('name,categoryId\r\nRex,3', 'utf16le').swap16()],
  [/is UTF-16/, Buffer.from(`${BOM}{"name":"Rex"}`, 'utf16le'), 'jsonl'],
  [/is compressed: unpack/, Buffer.from([0x1f, 0x8b, 8, 0])],
  [/is a workbook or an archive/, Buffer.from('PK\x03\x04')],
  [/is a workbook/, Buffer.from('d0cf11e0a1b11ae1', 'hex')],
  [/^Line 1 of .*: the line is not valid UTF-8.*Excel/, Buffer.from('name,categoryId,Größe\n', 'latin1')],
  [/^Line 1 of .*: a quote is at a wrong place/, '"name,categoryId\nRex,3\n'],
  [/^Line 1 of .*: a quote/, 'na"me,categoryId\n'],
  [/^Line 1 of .*: the first line must name the columns, such as/, 'Rex,3\n'],
  [/^Line 1 .*must name the columns/, ''],
  [/^Line 1 .*must name the columns/, '\nname,categoryId\n'],
  [/^Line 1 .*must name the columns/, 'Name,CategoryId\nRex,3\n'],
  [/^Line 1 .*must name the columns/, 'name|categoryId\nRex|3\n'],
  [/^Line 2 .*must name the columns/, 'sep=,\nRex,3\n'],
  [/^Line 1 of .*: the column name is named twice/, 'name,categoryId,name\nRex,3,Bo\n'],
  [/^Line 1 of .*: the column id is named twice/, `${BOM}id,name,categoryId,"id"\n`],
  [/^Line 1 .*column status is named twice/, 'name;status;categoryId;status\n'],
  [/^Line 2 of .* is longer than 65536 bytes/, `${header}${'x'.repeat(140_000)}`],
  [/^Line 1 of .* is longer than/, ...json(`{"name":"${'x'.repeat(140_000)}`)],
  [/^2: the line is not valid UTF-8/, Buffer.from(`${header}Zoë,3\n`, 'latin1')],
  [/^3: a quote .*; 4: a quote/, `${header}Rex,1\n"Bo,1\nBo"x,1\n`],
  [/^2: a quote .* not closed$/, `${header}"Bo,1\n${'Rex,3\n'.repeat(30_000)}`],
  [/^2: a quote .* not closed; 5: name is missing$/, `${header}"Bo,1\nRex,3\nRex,3\n,3\n`],
  [/^4: categoryId must be an integer$/, `note,${header}"a\nb",Rex,1\nc,Rex,x\n`],
  [/^2: name must be .*no control/, `${header}"Re\nx",1\n`],
  [/^2: the line has 3 values for 2 columns/, `${header}Rex,1,2\n`],
  [/^2: the line has 1 values for 2 columns/, `${header}Rex;1\n`],
  [/^2: categoryId must be an integer$/, `${header}Rex,3.0\n`],
  [/^2: categoryId must be an integer$/, `${header}Rex,1E+03\n`],
  [/^2: categoryId must be an integer$/, `${header}Rex,"1,000"\n`],
  [/^2: categoryId must be an integer from -/, `${header}Rex,9223372036854775808\n`],
  [/^2: categoryId is missing$/, `${header}Rex,\n`],
  [/^3: name is missing; 4: categoryId is missing/, `${header}\n,1\nRex,\n`],
  [/^2: status must be one of/, 'name,categoryId,status\nRex,1,Sold\n'],
  [/^3: id must be larger/, 'id,name,categoryId\n7,Rex,1\n7,Bo,1\n'],
  [/^3: id must be in each line or in none/, 'id,name,categoryId\n7,Rex,1\n,Bo,1\n'],
  [/^2: id must leave a higher one/, `id,name,categoryId\n${LAST},Rex,1\n`],
  [/^1: id must leave a higher one/, ...json(`{"id":${LAST},"name":"Rex","categoryId":1}\n`)],
  [/^2: id must be an integer from -/, 'id,name,categoryId\n9223372036854775808,Rex,1\n'],
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
    let rows = '';
    for await (const each of file.rows()) rows += each;
    return { rows, problems: file.problems.map(({ line, problems }) => `${line}: ${problems.join(', ')}`) };
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
    for (let length = 65_440; length < 65_540; length += 1) {
      const text = `${BOM}note,name,categoryId,status\r\n"${'x'.repeat(length - 60)}",Bo,1,sold\r\n"a ""\r\nb""",Rex,3,\r\n"",Zoë,3,sold`;
      expect(await read(text)).toEqual({ rows: `Bo\t1\tsold\n${ROWS.join('')}`, problems: [] });
    }
  });
});
