import { isUtf8 } from 'node:buffer';
import { createReadStream, statSync } from 'node:fs';
import { NewPet } from '../pets';
import { ApiError } from '../platform/errors/api-error';
import { validationFailed } from '../platform/errors/platform.errors';
import { inBody } from '../platform/errors/problem-details';
import { UserError } from '../platform/errors/user-error';
import { Int64 } from '../platform/validation/fields';
import { ApiValidationPipe, QuickDto } from '../platform/validation/validation.pipe';
import { parseJson } from '../server/json-body.guard';

export const PET_FORMATS = ['csv', 'jsonl'] as const;
export type PetFormat = (typeof PET_FORMATS)[number];

/** Bounds the memory. */
const MAX_LINE_BYTES = 65_536;
const MAX_NAMED_LINES = 20;

/** A value of CSV (RFC 4180), and what ends it. */
const CSV_VALUE = /(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|$)/gy;

/** An animal of an export. */
@QuickDto()
class ExportedPet extends NewPet {
  @Int64({ optional: true, description: 'The id of the animal in the store that has exported it.' })
  readonly id?: bigint;
}

/** A file with an animal on each line. It is read once, in parts. The lines are counted while it is read. */
export class PetFile {
  animals = 0;
  badLines = 0;
  /** The first bad lines, each with its number. */
  readonly problems: { readonly line: number; readonly problems: readonly string[] }[] = [];
  /** True if the animals keep their ids. Known after the first animal. */
  hasIds: boolean | undefined;
  lastId: bigint | undefined;
  /** The first line of CSV. */
  private columns: readonly string[] | undefined;
  private readonly pipe = new ApiValidationPipe();

  constructor(
    readonly path: string,
    private readonly format: PetFormat,
    private readonly areIdsNew: boolean,
    private readonly onProgress: (share: number) => void,
  ) {}

  /** Returns the animals before the first bad line as rows of COPY, several at a time. @throws UserError */
  async *rows(): AsyncGenerator<string> {
    const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
    // Latin-1 keeps every byte.
    const file = createReadStream(this.path, 'latin1');
    let lineNumber = 0;
    let rest = '';
    const rowsOf = async (lines: readonly string[]): Promise<string> => {
      let rows = '';
      for (const line of lines) rows += await this.rowOf(Buffer.from(line, 'latin1'), (lineNumber += 1));
      return this.badLines > 0 ? '' : rows;
    };
    for await (const part of file as AsyncIterable<string>) {
      const lines = `${rest}${part}`.split('\n');
      rest = lines.pop() ?? '';
      const rows = await rowsOf(lines);
      if (rows !== '') yield rows;
      if (rest.length > MAX_LINE_BYTES)
        throw new UserError(`Line ${lineNumber + 1} of ${this.path} is longer than ${MAX_LINE_BYTES} bytes.`);
      this.onProgress(file.bytesRead / size);
    }
    yield await rowsOf([rest]);
  }

  /** Returns the row of a line; an empty text for a bad line and one without an animal. */
  private async rowOf(line: Buffer, lineNumber: number): Promise<string> {
    try {
      const isCsv = this.format === 'csv';
      const given = isCsv ? this.csvIn(line) : jsonIn(line);
      if (given === undefined) return '';
      // The values of CSV are texts, as those of a query.
      const type = isCsv ? 'query' : 'body';
      const read = await this.pipe.transform(given, {
        type,
        metatype: this.areIdsNew ? NewPet : ExportedPet,
      });
      // The pipe has made it.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const pet = read as ExportedPet;
      const id = this.idOf(pet);
      this.animals += 1;
      // A valid name has no tab and no line break.
      return `${id}${pet.name.replaceAll('\\', '\\\\')}\t${pet.categoryId}\t${pet.status}\n`;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.badLines += 1;
      const problems = error.problems.map(({ detail }) => detail.replace(/^The body/, 'the line'));
      if (this.problems.length < MAX_NAMED_LINES) this.problems.push({ line: lineNumber, problems });
      return '';
    }
  }

  /** Returns the first column of a row. @throws ApiError unless all animals have ids, which ascend, or none has one */
  private idOf({ id }: ExportedPet): string {
    this.hasIds ??= id !== undefined;
    if (this.hasIds !== (id !== undefined)) throw badLine('id must be in each line or in none');
    if (id === undefined) return '';
    if (this.lastId !== undefined && id <= this.lastId)
      throw badLine('id must be larger than that of each line before');
    this.lastId = id;
    return `${id}\t`;
  }

  /** Reads a record of CSV. It is one line, because no value of an animal has a line break. */
  private csvIn(line: Buffer): Readonly<Record<string, string>> | undefined {
    const values = csvValues(line);
    if (!this.columns) {
      this.columns = values.map((name) => name.replace(/^\uFEFF/, ''));
      if (this.columns.includes('name') && this.columns.includes('categoryId')) return undefined;
      throw new UserError(
        `The first line of ${this.path} must name the columns, such as name,categoryId,status.`,
      );
    }
    if (values.join('') === '') return undefined;
    if (values.length !== this.columns.length)
      throw badLine(`the line has ${values.length} values for ${this.columns.length} columns`);
    const members = this.columns.map((name, at) => [name, values[at] ?? ''] as const);
    return Object.fromEntries(members.filter(([, value]) => value !== ''));
  }
}

function jsonIn(line: Buffer): unknown {
  return line.toString('latin1').trim() === '' ? undefined : parseJson(line);
}

function csvValues(line: Buffer): string[] {
  if (!isUtf8(line)) throw badLine('the line is not valid UTF-8');
  const record = line.toString().replace(/\r$/, '');
  const found = [...record.matchAll(CSV_VALUE)];
  // After the end of the record the pattern also finds an empty value.
  const values = found.slice(0, found.findIndex(([, , , end]) => end === '') + 1);
  if (values.length === 0) throw badLine('a quote is at a wrong place, or not closed on the line');
  return values.map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain);
}

function badLine(detail: string): ApiError {
  return validationFailed([{ ...inBody(), detail }]);
}
