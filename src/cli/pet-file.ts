import { isUtf8 } from 'node:buffer';
import { createReadStream, fstatSync, statSync } from 'node:fs';
import { NewPet } from '../pets';
import { ApiError } from '../platform/errors/api-error';
import { validationFailed } from '../platform/errors/platform.errors';
import { UserError } from '../platform/errors/user-error';
import { Int64 } from '../platform/validation/fields';
import { MAX_INT64 } from '../platform/validation/int64';
import { QuickDto, validatedFields } from '../platform/validation/declare-field';
import { ApiValidationPipe } from '../platform/validation/validation.pipe';
import { parseJson } from '../server/http/json-body.guard';

export const PET_FORMATS = ['csv', 'jsonl'] as const;
export type PetFormat = (typeof PET_FORMATS)[number];

const MAX_LINE_BYTES = 65_536;
const MAX_NAMED_LINES = 20;

/** A line before the columns: Excel adds a separator, PowerShell 5 a type. */
const PREAMBLE = /^(?:sep=.|#TYPE .*)$/i;

/** Stands in place of a path. */
export const STANDARD_INPUT = 'standard input';

const UTF_16 = 'UTF-16: save it as UTF-8';
const WORKBOOK = 'a workbook or an archive: save it as CSV';
/** The first bytes of files that are neither CSV nor JSON lines. */
const FOREIGN = [
  ['\xff\xfe', UTF_16],
  ['\xfe\xff', UTF_16],
  ['\x1f\x8b', 'compressed: unpack it'],
  ['PK\x03', WORKBOOK],
  ['\xd0\xcf\x11', WORKBOOK],
] as const;

/** Values of CSV (RFC 4180) before the last one of a record, a record, and a line. Both also end with the text. */
const VALUES = String.raw`(?:(?:"[^"]*(?:""[^"]*)*"|[^",;\t\r\n]*)[,;\t])*`;
const RECORD = String.raw`${VALUES}(?:"[^"]*(?:""[^"]*)*"|[^",;\t\r\n]*)(?:\r\n?|\n|$)`;
const LINE = String.raw`[^\r\n]*(?:\r\n?|\n|$)`;

/** Finds a record, or one whose last quote is open at the end of the text. */
const OPEN_RECORD = new RegExp(`${RECORD}|${VALUES}"[^"]*(?:""[^"]*)*$|${LINE}`, 'y');
/** Finds a record. A quote that is closed nowhere belongs to its line only. */
const CLOSED_RECORD = new RegExp(`${RECORD}|${LINE}`, 'y');
const JSON_LINE = new RegExp(LINE, 'y');

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
  /** The first line of CSV, and the pattern of its values. */
  private columns: readonly string[] | undefined;
  private value = patternOf(',');
  private readonly pipe = new ApiValidationPipe();

  constructor(
    readonly path: string,
    private readonly format: PetFormat,
    private readonly onProgress: (share: number) => void,
  ) {}

  /** Returns the animals before the first bad line as rows of COPY, several at a time. @throws UserError */
  async *rows(): AsyncGenerator<string> {
    // A socket, or the pipe of another user, cannot be opened again by the name /dev/stdin.
    const isPath = this.path !== STANDARD_INPUT;
    const stats = isPath ? statSync(this.path) : fstatSync(0);
    if (stats.isDirectory()) throw new UserError(`${this.path} is a folder: name a file.`);
    const file = isPath ? createReadStream(this.path) : process.stdin;
    // Latin-1 keeps every byte.
    file.setEncoding('latin1');
    let line = 1;
    let rest = '';
    const rowsOf = async (text: string, isLast: boolean): Promise<string> => {
      let rows = '';
      rest = text;
      while (rest !== '') {
        const record = this.recordIn(rest, isLast);
        if (record === undefined) break;
        rows += await this.rowOf(Buffer.from(record.replace(/[\r\n]+$/, ''), 'latin1'), line);
        line += record.match(/\r\n?|\n/g)?.length ?? 0;
        rest = rest.slice(record.length);
      }
      return this.badLines > 0 ? '' : rows;
    };
    let isFirst = true;
    for await (const part of file as AsyncIterable<string>) {
      if (isFirst) this.requireText(part);
      const rows = await rowsOf(isFirst ? part.replace(/^\xef\xbb\xbf/, '') : rest + part, false);
      isFirst = false;
      if (rows !== '') yield rows;
      if (rest.length > MAX_LINE_BYTES)
        throw new UserError(`Line ${line} of ${this.path} is longer than ${MAX_LINE_BYTES} bytes.`);
      // A pipe has no size.
      this.onProgress(Math.min(file.bytesRead / stats.size, 1));
    }
    yield await rowsOf(rest, true);
    if (this.format === 'csv' && !this.columns) await this.rowOf(Buffer.alloc(0), line);
  }

  /** @throws UserError for another kind of file. UTF-16 may lack its mark. */
  private requireText(part: string): void {
    const [, known] = FOREIGN.find(([bytes]) => part.startsWith(bytes)) ?? [];
    const kind = part.slice(0, 2).includes('\0') ? UTF_16 : known;
    if (kind !== undefined) throw new UserError(`${this.path} is ${kind}.`);
  }

  /** Returns the record at the beginning of a text; undefined if the next part of the file may continue it. */
  private recordIn(text: string, isLast: boolean): string | undefined {
    const isCsv = this.format === 'csv';
    const found = first(isCsv ? OPEN_RECORD : JSON_LINE, text);
    if (found.length < text.length) return found;
    if (!isLast && found.length <= MAX_LINE_BYTES) return undefined;
    const closed = first(isCsv ? CLOSED_RECORD : JSON_LINE, text);
    return closed.length < text.length || isLast ? closed : undefined;
  }

  /** Returns the row of a line; an empty text for a bad line and one without an animal. */
  private async rowOf(line: Buffer, lineNumber: number): Promise<string> {
    try {
      const isCsv = this.format === 'csv';
      const given = isCsv ? this.csvIn(line) : jsonIn(line);
      if (given === undefined) return '';
      // CSV has only texts, as a query has.
      const type = isCsv ? 'query' : 'body';
      const read = await this.pipe.transform(given, { type, metatype: ExportedPet });
      // The pipe has made it.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const pet = read as ExportedPet;
      const id = this.idOf(pet);
      this.animals += 1;
      // A valid name has no tab and no line break.
      return `${id}${pet.name.replaceAll('\\', '\\\\')}\t${pet.categoryId}\t${pet.status}\n`;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const problems = error.mistakes.map((mistake) => mistake.replace(/^The body/, 'the line'));
      if (this.format === 'csv' && !this.columns)
        throw new UserError(`Line ${lineNumber} of ${this.path}: ${problems.join('; ')}.`);
      this.badLines += 1;
      if (this.problems.length < MAX_NAMED_LINES) this.problems.push({ line: lineNumber, problems });
      return '';
    }
  }

  /** Returns the first column of a row. @throws ApiError unless all animals have ids, which ascend, or none has one */
  private idOf({ id }: ExportedPet): string {
    this.hasIds ??= id !== undefined;
    if (this.hasIds !== (id !== undefined)) throw badLine('id must be in each line or in none');
    if (id === undefined) return '';
    if (id === MAX_INT64) throw badLine('id must leave a higher one for the next animal');
    if (this.lastId !== undefined && id <= this.lastId)
      throw badLine('id must be larger than that of each line before');
    this.lastId = id;
    return `${id}\t`;
  }

  /** Reads a record of CSV. A value of an animal has no line break; one of another column may have. */
  private csvIn(record: Buffer): Readonly<Record<string, string>> | undefined {
    const { columns } = this;
    if (!columns) return this.readColumns(record);
    const values = csvValues(record, this.value);
    if (values.join('') === '') return undefined;
    if (values.length !== columns.length)
      throw badLine(`the line has ${values.length} values for ${columns.length} columns`);
    const members = columns.map((name, at) => [name, values[at] ?? ''] as const);
    return Object.fromEntries(members.filter(([, value]) => value !== ''));
  }

  /** Reads the names of the columns. In many countries spreadsheets separate by semicolons. */
  private readColumns(record: Buffer): undefined {
    const line = record.toString('latin1');
    if (PREAMBLE.test(line)) return;
    if (!line.includes(',')) this.value = patternOf(/[;\t]/.exec(line)?.[0] ?? ',');
    const names = csvValues(record, this.value);
    const twice = validatedFields(ExportedPet).find((name) => names.indexOf(name) < names.lastIndexOf(name));
    if (twice !== undefined) throw badLine(`the column ${twice} is named twice`);
    if (!names.includes('name') || !names.includes('categoryId'))
      throw badLine('the first line must name the columns, such as name,categoryId,status');
    this.columns = names;
  }
}

/** Returns what a sticky pattern finds at the beginning of a text. */
function first(pattern: RegExp, text: string): string {
  pattern.lastIndex = 0;
  return pattern.exec(text)?.[0] ?? '';
}

function jsonIn(line: Buffer): unknown {
  return line.toString('latin1').trim() === '' ? undefined : parseJson(line);
}

/** Returns the pattern of a value and what ends it. */
function patternOf(separator: string): RegExp {
  return new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${separator}]*))(${separator}|$)`, 'gy');
}

function csvValues(record: Buffer, value: RegExp): string[] {
  if (!isUtf8(record))
    throw badLine('the line is not valid UTF-8: save the file in UTF-8 (in Excel as CSV UTF-8)');
  const found = [...record.toString().matchAll(value)];
  // After the end of the record the pattern also finds an empty value.
  const values = found.slice(0, found.findIndex(([, , , end]) => end === '') + 1);
  if (values.length === 0) throw badLine('a quote is at a wrong place, or not closed');
  return values.map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain);
}

function badLine(mistake: string): ApiError {
  return validationFailed([mistake]);
}
