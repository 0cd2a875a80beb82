import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PetFile } from '../../src/cli/pet-file';

const BOM = '\uFEFF';
const HEADER = 'name,categoryId\n';
const ROWS = 'Rex\t3\tavailable\nZoë\t-9223372036854775808\tsold\n';

/** Files with Rex and Zoë, as programs write them. */
const WRITTEN = [
  ['Excel', 'csv', `${BOM}name,categoryId,status\r\nRex,3,\r\nZoë,-9223372036854775808,sold\r\n`],
  ['pets export', 'csv', 'id,name,categoryId,status\n7,Rex,3,available\n9,Zoë,-9223372036854775808,sold\n'],
  [
    'pandas, with texts of several lines',
    'csv',
    '"note","status","categoryId","name"\n"a\nb, ""c""","",3,"Rex"\n\n"","sold",-9223372036854775808,"Zoë"',
  ],
  [
    'PowerShell',
    'jsonl',
    `${BOM}{"name":"Rex","categoryId":3}\r\n{"name":"Zo\\u00eb","categoryId":-9223372036854775808,"status":"sold"}\r\n`,
  ],
  [
    'jq -c',
    'jsonl',
    '\n{"name":"Rex","categoryId":3.0}\n{"unknown":["1,2"],"categoryId":-9223372036854775808,"name":"Zoë","status":"sold"}',
  ],
] as const;

/** Broken files with the reason: one that ends the import, then bad lines. */
const BROKEN: readonly (readonly [reason: RegExp, text: string | Buffer, format?: 'jsonl'])[] = [
  [/is not text in UTF-8: save it/, Buffer.from(`${HEADER}Zoë,3\n`, 'latin1')],
  [/is not text in UTF-8/, Buffer.from(`${HEADER}Zoë`).subarray(0, -1)],
  [/is not text in UTF-8/, Buffer.from(`${BOM}{"name":"Rex"}`, 'utf16le'), 'jsonl'],
  [/^3: Quote Not Closed/, `${HEADER}Rex,1\n"Bo,1`],
  [/^3: name is missing, categoryId is missing$/, `nom,category\n\nRex,1\n`],
  [/^4: categoryId must be an integer from /, `note,${HEADER}"a\nb",Rex,1\nc,Rex,x\n`],
  [/^3: name must be .*no control/, `${HEADER}"Re\nx",1\n`],
  [/^2: Invalid Record Length: columns length is 2, got 3/, `${HEADER}Rex,1,2\n`],
  [/^2: categoryId must be an integer from -/, `${HEADER}Rex,9223372036854775808\n`],
  [/^2: status must be one of/, 'name,categoryId,status\nRex,1,Sold\n'],
  [/^2: name is missing$/, '{"name":"Rex","categoryId":1}\r\n{"categoryId":1}\r\n', 'jsonl'],
  [/^1: The body must be a JSON object/, '[{"name":"Rex","categoryId":1}]\n', 'jsonl'],
  [/^1: The body is not acceptable JSON: it cannot be parsed/, '{\n', 'jsonl'],
  [/^1: categoryId must be an integer from /, '{"name":"Rex","categoryId":"1"}', 'jsonl'],
];

describe('a file of animals', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pet-files-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function read(text: string | Buffer, format = 'csv') {
    const path = join(folder, `pets.${format}`);
    writeFileSync(path, text);
    const { parts, problems } = await PetFile.read(path, () => undefined);
    return {
      rows: String(Buffer.concat(parts)),
      problems: problems.map((each) => `${each.line}: ${each.problems.join(', ')}`),
    };
  }

  it.each(WRITTEN)('is read as %s writes %s', async (_program, format, text) => {
    expect(await read(text, format)).toEqual({ rows: ROWS, problems: [] });
  });

  it.each(BROKEN.map(([reason, text, format = 'csv']) => [reason, text, format] as const))(
    'has the line and the reason %s',
    async (reason, text, format) => {
      const told = await read(text, format).then(
        ({ problems }) => problems.join('; '),
        (error: Error) => error.message,
      );
      expect(told).toMatch(reason);
    },
  );

  it('is read the same wherever its parts end', async () => {
    const head = `${BOM}note,name,categoryId,status\r\n"`;
    const tail = `",Bo,1,sold\r\n"a ""\r\nb""",Rex,3,\r\n"",Zoë,-9223372036854775808,sold`;
    // The first part, of 64 KiB, ends at each byte of the tail.
    const longest = 65_536 - Buffer.byteLength(head);
    for (let length = longest - Buffer.byteLength(tail); length <= longest; length += 1) {
      const text = `${head}${'x'.repeat(length)}${tail}`;
      expect(await read(text)).toEqual({ rows: `Bo\t1\tsold\n${ROWS}`, problems: [] });
    }
  });
});
