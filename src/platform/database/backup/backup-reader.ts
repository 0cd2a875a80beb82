import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { END_OF_ROWS } from './backup-format';

const NEWLINE = 0x0a;

/** Reads the text of a backup from its beginning: lines, and rows up to the line that ends them. */
export class BackupReader {
  private readonly hash = createHash('sha256');
  private readonly blocks: AsyncGenerator<Buffer>;
  /** Whole lines that are not read yet. */
  private block: Buffer = Buffer.alloc(0);

  private constructor(private readonly text: Gunzip) {
    this.blocks = wholeLines(text);
  }

  /** An error of the file or of its compression rejects the next read. */
  static open(path: string): BackupReader {
    const text = createGunzip();
    pipeline(createReadStream(path), text, () => undefined);
    return new BackupReader(text);
  }

  close(): void {
    this.text.destroy();
  }

  /** Returns the SHA-256 of all text that was read. */
  digest(): string {
    return this.hash.copy().digest('hex');
  }

  /** @throws Error at the end of the file, or if the line is not JSON */
  async json(): Promise<unknown> {
    await this.fill();
    const line = this.take(this.block.indexOf(NEWLINE) + 1).toString();
    try {
      return JSON.parse(line);
    } catch (cause) {
      // The message of JSON.parse has several lines.
      throw new Error('a line is not JSON', { cause });
    }
  }

  /** Yields rows in blocks of whole lines. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      await this.fill();
      if (this.block.subarray(0, END_OF_ROWS.length).equals(END_OF_ROWS)) break;
      const end = this.block.indexOf(`\n${END_OF_ROWS.toString()}`);
      yield this.take(end < 0 ? this.block.length : end + 1);
    }
    this.take(END_OF_ROWS.length);
  }

  /** @throws Error unless all text was read */
  async requireEnd(): Promise<void> {
    if (this.block.length > 0 || !(await this.blocks.next()).done) throw new Error('text after the end');
  }

  private async fill(): Promise<void> {
    if (this.block.length > 0) return;
    const next = await this.blocks.next();
    if (next.done) throw new Error('unexpected end of file');
    this.block = next.value;
  }

  private take(length: number): Buffer {
    const taken = this.block.subarray(0, length);
    this.block = this.block.subarray(length);
    this.hash.update(taken);
    return taken;
  }
}

/** Divides text after newlines. Each block has at least one line. */
async function* wholeLines(text: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of text) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) yield Buffer.concat([...parts.splice(0), chunk.subarray(0, end)]);
    parts.push(chunk.subarray(end));
  }
  if (parts.some(({ length }) => length > 0)) throw new Error('unexpected end of file');
}
