import { createReadStream, statSync } from 'node:fs';
import { pipeline } from 'node:stream';
import { type CsvError, type Options, parse } from 'csv-parse';
import { ApiError } from '../api/errors/api-error';
import { parseJson } from '../api/fields/json';
import { ApiValidationPipe } from '../api/fields/validation.pipe';
import { codeOf, UserError } from '../config/user-error';
import { NEW_PET_COLUMNS, NewPet } from '../pets';

const MAX_NAMED_LINES = 20;
/** Characters of the rows that are kept in one buffer. */
const PART_LENGTH = 65_536;

const LINES: Options = { info: true, skip_empty_lines: true, skip_records_with_error: true };
/** The first line names the columns. */
const CSV: Options = { ...LINES, columns: true };
/** Each line is one value: JSON has no such delimiter. */
const JSON_LINES: Options = { ...LINES, quote: null, delimiter: '\u0001' };

interface Line {
  readonly record: object | readonly [json: string];
  readonly info: { readonly lines: number };
}

/** The animals of a file, and its bad lines. */
export class PetFile {
  animals = 0;
  badLines = 0;
  /** The first bad lines. */
  readonly problems: { readonly line: number; readonly problems: readonly string[] }[] = [];
  /** The animals as rows of COPY, many in each part. A buffer is not part of the heap, which is small in a container. */
  readonly parts: Buffer[] = [];
  private rows = '';
  private readonly pipe = new ApiValidationPipe();

  private constructor() {}

  /**
   * Reads CSV (RFC 4180) if the name of the file ends with `.csv`, and JSON lines otherwise.
   *
   * @param onProgress receives the share of the file that was read
   * @throws UserError if it is a folder, or not text in UTF-8
   */
  static async read(path: string, onProgress: (share: number) => void): Promise<PetFile> {
    const file = new PetFile();
    const parser = parse(/\.csv$/i.test(path) ? CSV : JSON_LINES);
    parser.on('skip', (error: CsvError) => file.addProblem(Number(error['lines']), [error.message]));
    // An error of the file destroys the parser, and so reaches its reader.
    const lines: AsyncIterable<Line> = pipeline(textOf(path, onProgress), parser, () => undefined);
    for await (const { record, info } of lines) await file.addPet(info.lines, record);
    file.closePart();
    return file;
  }

  private async addPet(line: number, record: Line['record']): Promise<void> {
    try {
      const read = Array.isArray(record)
        ? this.pipe.transform(parseJson(Buffer.from(record[0])), { type: 'body', metatype: NewPet })
        : this.pipe.transform(withoutEmpty(record), { type: 'query', metatype: NewPet });
      // The pipe has made it.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const pet = (await read) as NewPet;
      this.animals += 1;
      this.rows += `${NEW_PET_COLUMNS.map(({ member }) => copied(Reflect.get(pet, member))).join('\t')}\n`;
      if (this.rows.length > PART_LENGTH) this.closePart();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.addProblem(line, error.mistakes);
    }
  }

  private closePart(): void {
    this.parts.push(Buffer.from(this.rows));
    this.rows = '';
  }

  private addProblem(line: number, problems: readonly string[]): void {
    this.badLines += 1;
    if (this.problems.length < MAX_NAMED_LINES) this.problems.push({ line, problems });
  }
}

/** Prints a value for COPY. A valid text has no tab and no line break. */
function copied(value: string | number | bigint | boolean | null | undefined): string {
  return value?.toString().replaceAll('\\', '\\\\') ?? String.raw`\N`;
}

/** CSV has only texts, as a query has. An empty one stands for a member that is missing. */
function withoutEmpty(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([, text]) => text !== ''));
}

/** Reads a text, without the byte-order mark with which Excel begins. */
async function* textOf(path: string, onProgress: (share: number) => void): AsyncGenerator<string> {
  const stats = statSync(path);
  if (stats.isDirectory()) throw new UserError(`${path} is a folder. Give the name of a file.`);
  const file = createReadStream(path);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const part of file as AsyncIterable<Buffer>) {
      yield decoder.decode(part, { stream: true });
      onProgress(file.bytesRead / stats.size);
    }
    yield decoder.decode();
  } catch (error) {
    if (codeOf(error) !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
    throw new UserError(`${path} is not text in UTF-8: save it as such (in Excel as CSV UTF-8).`);
  }
}
