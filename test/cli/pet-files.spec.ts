import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PetFile, type PetFormat } from '../../src/cli/pet-file';

const BOM = '\uFEFF';
const ROWS = ['Rex\t3\tavailable\n', 'Zoë\t3\tsold\n'];
const LAST = '9223372036854775807';

/** Files with Rex and Zoë, as programs write them. */
const WRITTEN: readonly (readonly [program: string, text: string, format?: PetFormat])[] = [
  ['Excel, CSV UTF-8', `${BOM}name,categoryId,status\r\nRex,3,available\r\nZoë,3,sold\r\n`],
  ['Excel with semicolons', `${BOM}name;categoryId;status\r\nRex;3;\r\nZoë;3;sold\r\n`],
  [
    'Excel with semicolons and a comma in a value',
    `${BOM}name;categoryId;status;note\r\nRex;3;;"a, b"\r\nZoë;3;sold;\r\n`,
  ],
  ['Excel with a separator line', `sep=;\r\nname;categoryId;status\r\nRex;3;\r\nZoë;3;sold\r\n`],
  ['Excel, tabs', 'name\tcategoryId\tstatus\r\nRex\t3\t\r\nZoë\t3\tsold\r\n'],
  ['Excel, Macintosh', 'name,categoryId,status\rRex,3,\rZoë,3,sold\r'],
  [
    'Excel, empty columns and rows',
    `${BOM}name,categoryId,status,,\r\nRex,3,,,\r\n,,,,\r\nZoë,3,sold,,\r\n,,,,\r\n`,
  ],
  [
    'Excel, a line break in a cell',
    `${BOM}note,name,categoryId,status\r\n"a\nb",Rex,3,\r\n"c\n\nd ""e""",Zoë,3,sold\r\n`,
  ],
  ['LibreOffice', 'name,categoryId,status\nRex,3,\nZoë,3,sold\n'],
  ['LibreOffice, all texts quoted', '"name","categoryId","status"\n"Rex",3,\n"Zoë",3,"sold"\n'],
  ['LibreOffice with semicolons, quoted', '"name";"categoryId";"status"\n"Rex";3;\n"Zoë";3;"sold"\n'],
  ['LibreOffice with tabs', '"name"\t"categoryId"\t"status"\n"Rex"\t3\t\n"Zoë"\t3\t"sold"\n'],
  [
    'PowerShell 5, -Encoding UTF8',
    `${BOM}"name","categoryId","status"\r\n"Rex","3",\r\n"Zoë","3","sold"\r\n`,
  ],
  [
    'PowerShell 5 with the type',
    `${BOM}#TYPE System.Management.Automation.PSCustomObject\r\n"name","categoryId","status"\r\n"Rex","3",\r\n"Zoë","3","sold"\r\n`,
  ],
  ['PowerShell 5, -UseCulture', `${BOM}"name";"categoryId";"status"\r\n"Rex";"3";\r\n"Zoë";"3";"sold"\r\n`],
  ['PowerShell 7', '"name","categoryId","status"\r\n"Rex","3",\r\n"Zoë","3","sold"\r\n'],
  ['PowerShell 7 on Linux', '"name","categoryId","status"\n"Rex","3",\n"Zoë","3","sold"\n'],
  ['PowerShell 7, -UseQuotes AsNeeded', 'name,categoryId,status\r\nRex,3,\r\nZoë,3,sold\r\n'],
  [
    'PowerShell, JSON',
    `${BOM}{"name":"Rex","categoryId":3}\r\n{"name":"Zo\\u00eb","categoryId":3,"status":"sold"}\r\n`,
    'jsonl',
  ],
  ['pandas', 'name,categoryId,status\nRex,3,\nZoë,3,sold\n'],
  ['pandas with its index', ',name,categoryId,status\n0,Rex,3,\n1,Zoë,3,sold\n'],
  ['pandas, utf-8-sig', `${BOM}name,categoryId,status\nRex,3,\nZoë,3,sold\n`],
  ['pandas, utf-8-sig, QUOTE_ALL', `${BOM}"name","categoryId","status"\n"Rex","3",""\n"Zoë","3","sold"\n`],
  ['pandas, QUOTE_NONNUMERIC', '"name","categoryId","status"\n"Rex",3,""\n"Zoë",3,"sold"\n'],
  ['pandas, sep=;', 'name;categoryId;status\nRex;3;\nZoë;3;sold\n'],
  ['pandas, sep=\\t', 'name\tcategoryId\tstatus\nRex\t3\t\nZoë\t3\tsold\n'],
  ['pandas, lineterminator=\\r\\n', 'name,categoryId,status\r\nRex,3,\r\nZoë,3,sold\r\n'],
  ['pandas, other columns first', 'status,born,categoryId,name\n,2020-01-01,3,Rex\nsold,,3,Zoë\n'],
  [
    'pandas, JSON lines',
    '{"name":"Rex","categoryId":3}\n{"name":"Zo\\u00eb","categoryId":3,"status":"sold"}\n',
    'jsonl',
  ],
  ['Google Sheets', 'name,categoryId,status\r\nRex,3,\r\nZoë,3,sold'],
  ['Google Sheets, a break in a cell', 'name,categoryId,status,note\r\nRex,3,,"a\nb, ""c"""\r\nZoë,3,sold,'],
  ['Google Sheets, TSV', 'name\tcategoryId\tstatus\r\nRex\t3\t\r\nZoë\t3\tsold'],
  ['PostgreSQL COPY CSV HEADER', 'name,category,categoryId,status\nRex,1,3,\nZoë,,3,sold\n'],
  ['PostgreSQL, FORCE_QUOTE *', 'name,categoryId,status\n"Rex","3",\n"Zoë","3","sold"\n'],
  ['PostgreSQL, DELIMITER ;', 'name;categoryId;status\nRex;3;\nZoë;3;sold\n'],
  ['PostgreSQL, text with a break', 'name,categoryId,status,note\nRex,3,,"\\.\n\\."\nZoë,3,sold,\n'],
  [
    'PostgreSQL, row_to_json',
    '{"name":"Rex","categoryId":3}\n{"name":"Zoë","categoryId":3.0,"status":"sold"}\n',
    'jsonl',
  ],
  ['MySQL Workbench', '"name","categoryId","status"\n"Rex",3,""\n"Zoë",3,"sold"\n'],
  ['SQLite .mode csv', 'name,categoryId,status\r\nRex,3,""\r\n"Zoë",3,sold\r\n'],
  ['jq -c', '{"name":"Rex","categoryId":3}\n{"categoryId":3,"name":"Zoë","status":"sold"}', 'jsonl'],
  ['Numbers', 'name,categoryId,status\r\n"Rex",3,\r\n"Zoë",3,sold'],
  ['R write.csv', '"","name","categoryId","status"\n"1","Rex",3,""\n"2","Zoë",3,"sold"\n'],
];

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

  it.each(withFormat(WRITTEN))('is read as %s writes it', async (_program, text, format) => {
    expect(await read(text, format)).toEqual({ rows: ROWS.join(''), problems: [] });
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
