import { createReadStream, fstatSync, statSync } from 'node:fs';
import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { NewPet } from '../pets';
import { ApiError } from '../api/errors/api-error';
import { validationFailed } from '../api/errors/common.errors';
import { codeOf, UserError } from '../config/user-error';
import { Int64 } from '../api/fields/fields';
import { MAX_INT64 } from '../api/fields/int64';
import { ApiValidationPipe, QuickDto } from '../api/fields/validation.pipe';
import { parseJson, parseNumber } from '../http/json-body.guard';

export const PET_FORMATS = ['csv', 'jsonl'] as const;
export type PetFormat = (typeof PET_FORMATS)[number];

/** Stands in place of a path. */
export const STANDARD_INPUT = 'standard input';

const MAX_LINE_BYTES = 65_536;
const MAX_NAMED_LINES = 20;
/** Characters of a part of the rows. */
const PART_LENGTH = 65_536;

/** The columns of CSV. Their names may have other capitals, spaces and underscores. Other columns are ignored. */
const COLUMNS = ['id', 'name', 'categoryId', 'status'];
const INTEGERS = new Set(['id', 'categoryId']);
/** A number of JSON. Other programs write integers as `3.0` and `1e+05`. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;

@QuickDto()
class ExportedPet extends NewPet {
  // The next animal needs a higher one.
  @Int64({ optional: true, max: MAX_INT64 - 1n, description: 'Its id in the store that exported it.' })
  readonly id?: bigint;
}

/** An animal, or its JSON, and the line of the file on which it ends. */
type Line = readonly [number: number, pet: string | object];

/** A file with an animal on each line, as CSV (RFC 4180) or JSON lines. The lines are counted while it is read. */
export class PetFile {
  animals = 0;
  badLines = 0;
  /** The first bad lines, each with its number. */
  readonly problems: { readonly line: number; readonly problems: readonly string[] }[] = [];
  /** The animals before the first bad line as rows of COPY, several in each part. */
  readonly parts: Buffer[] = [];
  private rows = '';
  /** Undefined if the animals get new ids. */
  lastId: bigint | undefined;
  private readonly pipe = new ApiValidationPipe();

  constructor(
    readonly path: string,
    private readonly format: PetFormat,
    private readonly onProgress: (share: number) => void,
    private readonly isDryRun = false,
  ) {}

  /** Reads the file once. @throws UserError if it is not such a file */
  async read(): Promise<void> {
    const lines = this.format === 'csv' ? this.csvLines() : this.jsonLines();
    for await (const [line, pet] of lines) await this.addPet(line, pet);
    this.closePart();
  }

  /** Reads the text in parts. A mark of its encoding at the beginning goes. */
  private async *text(): AsyncGenerator<string, undefined> {
    // A socket, or the pipe of another user, cannot be opened again by the name /dev/stdin.
    const isPath = this.path !== STANDARD_INPUT;
    const stats = isPath ? statSync(this.path) : fstatSync(0);
    if (stats.isDirectory()) throw new UserError(`${this.path} is a folder: name a file.`);
    const file = isPath ? createReadStream(this.path) : process.stdin;
    const decoder = new TextDecoder('utf-8', { fatal: true });
    try {
      for await (const part of file as AsyncIterable<Buffer>) {
        yield decoder.decode(part, { stream: true });
        // A pipe has no size.
        this.onProgress(Math.min(file.bytesRead / stats.size, 1));
      }
      yield decoder.decode();
    } catch (error) {
      if (codeOf(error) !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
      throw new UserError(`${this.path} is not text in UTF-8: save it as such (in Excel as CSV UTF-8).`);
    }
  }

  private async *jsonLines(): AsyncGenerator<Line> {
    let [number, rest] = [0, ''];
    for await (const part of this.text()) {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield [(number += 1), line];
      if (rest.length > MAX_LINE_BYTES)
        throw new UserError(`Line ${number + 1} of ${this.path} is longer than ${MAX_LINE_BYTES} bytes.`);
    }
    yield [number + 1, rest];
  }

  private async *csvLines(): AsyncGenerator<Line> {
    const text = this.text();
    let first = '';
    // The first part of a pipe may be shorter than the line of the columns.
    while (!/[\r\n]/.test(first) && first.length < MAX_LINE_BYTES) {
      const { value, done } = await text.next();
      if (done) break;
      first += value;
    }
    const parts = async function* () {
      yield first;
      yield* text;
    };
    const parser = parse({
      delimiter: separatorOf(first),
      max_record_size: MAX_LINE_BYTES,
      relax_column_count: true,
    });
    // An error of the file destroys the parser, and so reaches its reader.
    const records: AsyncIterable<readonly string[]> = pipeline(parts, parser, () => undefined);
    let line = 0;
    let columns: readonly (string | false)[] | undefined;
    try {
      for await (const record of records) {
        // With `info` the parser would count them, in a fifth of the time of this process.
        line += 1;
        for (const each of record) if (/[\r\n]/.test(each)) line += each.split(/\r\n|[\r\n]/).length - 1;
        if (record.every((each) => each.trim() === '')) continue;
        if (!columns) columns = this.columnsOf(record);
        else if (record.length === columns.length) yield [line, petOf(columns, record)];
        else
          this.addProblem(line, [
            `the number of values is ${record.length}, and of columns ${columns.length}`,
          ]);
      }
    } catch (error) {
      throw error instanceof CsvError ? new UserError(`${this.path}: ${error.message}.`) : error;
    }
    if (!columns) this.columnsOf([]);
  }

  /** Returns the column of an animal for each name of the first line. */
  private columnsOf(names: readonly string[]): (string | false)[] {
    const columns = names.map((name) => {
      const plain = name.toLowerCase().replaceAll(/[ _]/g, '');
      return COLUMNS.find((column) => column.toLowerCase() === plain) ?? false;
    });
    const twice = columns.find((column, at) => column !== false && columns.indexOf(column) < at);
    if (twice !== undefined) throw new UserError(`${this.path} has the column ${String(twice)} twice.`);
    if (!columns.includes('name') || !columns.includes('categoryId'))
      throw new UserError(
        `The first line of ${this.path} must name the columns, such as name,categoryId,status.`,
      );
    return columns;
  }

  private async addPet(line: number, found: string | object): Promise<void> {
    if (typeof found === 'string' && found.trim() === '') return;
    try {
      const given = typeof found === 'string' ? parseJson(Buffer.from(found)) : found;
      const read = await this.pipe.transform(given, { type: 'body', metatype: ExportedPet });
      // The pipe has made it.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const pet = read as ExportedPet;
      const id = this.idOf(pet);
      this.animals += 1;
      // A valid name has no tab and no line break.
      const row = `${id}${pet.name.replaceAll('\\', '\\\\')}\t${pet.categoryId}\t${pet.status}\n`;
      if (this.badLines === 0 && !this.isDryRun) this.rows += row;
      if (this.rows.length > PART_LENGTH) this.closePart();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const problems = error.mistakes.map((mistake) => mistake.replace(/^The body/, 'the line'));
      this.addProblem(line, problems);
    }
  }

  /** The memory of a buffer is not part of the heap, which is small in a container. */
  private closePart(): void {
    this.parts.push(Buffer.from(this.rows));
    this.rows = '';
  }

  private addProblem(line: number, problems: readonly string[]): void {
    this.badLines += 1;
    if (this.problems.length < MAX_NAMED_LINES) this.problems.push({ line, problems });
  }

  /** Returns the first column of a row. @throws ApiError unless all animals have ids, which ascend, or none has one */
  private idOf({ id }: ExportedPet): string {
    const isFirst = this.animals === 0;
    if (!isFirst && (this.lastId === undefined) !== (id === undefined))
      throw badLine('id must be in each line or in none');
    if (id === undefined) return '';
    if (this.lastId !== undefined && id <= this.lastId)
      throw badLine('id must be larger than that of each line before');
    this.lastId = id;
    return `${id}\t`;
  }
}

/** In many countries spreadsheets separate by semicolons. */
function separatorOf(text: string): string {
  const [line = ''] = text.split(/[\r\n]/, 1);
  return line.includes(',') ? ',' : (/[;\t]/.exec(line)?.[0] ?? ',');
}

/** CSV has only texts. An empty one stands for a member that is missing. */
function petOf(columns: readonly (string | false)[], record: readonly string[]): object {
  const pet: Record<string, unknown> = {};
  for (const [at, name] of columns.entries()) {
    const text = record[at] ?? '';
    if (name === false || text === '') continue;
    pet[name] = INTEGERS.has(name) && NUMBER.test(text) ? parseNumber(text) : text;
  }
  return pet;
}

function badLine(mistake: string): ApiError {
  return validationFailed([mistake]);
}
