import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import fastify from 'fastify';
import type { DataSource } from 'typeorm';
import { createLogger } from '../../src/http/logger';
import { Metrics } from '../../src/http/metrics';
import { StandardOutput } from '../../src/http/standard-output';
import { itOnTerminal, RUN_TYPESCRIPT, runOnTerminal } from '../support/service';

const MEBIBYTE = 1024 * 1024;
const LINE_BYTES = 256;
/** A line that contains its number, so that a missing or incomplete line is visible. */
const lineOf = (at: number) => `${JSON.stringify({ at }).padEnd(LINE_BYTES - 1)}\n`;
const lines = (count: number) => Array.from({ length: count }, (_, at) => lineOf(at)).join('');

describe('standard output', () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-log-'));
  const path = join(folder, 'fifo');
  beforeEach(() => execFileSync('mkfifo', [path]));
  afterEach(() => rmSync(path));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Opens a file and leaves it open: a destination writes to its descriptor until the process exits. */
  function openFile(name: string, flags: number): number {
    return openSync(name, flags | constants.O_NONBLOCK);
  }

  /** An output and its reader, which reads only when the spec does. */
  function pipe() {
    const reader = openFile(path, constants.O_RDONLY);
    return { reader, output: new StandardOutput(openFile(path, constants.O_WRONLY)) };
  }

  /** Reads at least as many characters as the expected text has. */
  async function read(reader: number, { length }: string): Promise<string> {
    let text = '';
    while (text.length < length) {
      text += readAvailable(reader);
      await sleep(1);
    }
    return text.slice(0, length);
  }

  it('keeps 4 MiB for a stalled reader, and counts the lines that it drops', async () => {
    const { reader, output } = pipe();
    const [kept, dropped] = [(4 * MEBIBYTE) / LINE_BYTES, 1_000];
    for (let at = 0; at < kept + dropped; at += 1) {
      output.write(lineOf(at));
      // Each turn of the event loop writes its lines together.
      if (at % 64 === 63) await new Promise(setImmediate);
    }
    await output.flush();
    // The pipe holds another 64 KiB, and a turn has 64 lines.
    expect(output.droppedLines).toBeGreaterThan(dropped - 256 - 64);
    expect(output.droppedLines).toBeLessThanOrEqual(dropped);
    expect(await read(reader, lines(1_000))).toBe(lines(1_000));
    // SonicBoom waits for a reader for ever.
    closeSync(reader);
  });

  it('writes every line in order, also those kept for a new reader of the pipe', async () => {
    const { reader, output } = pipe();
    closeSync(reader);
    for (let at = 0; at < 1_000; at += 1) output.write(lineOf(at));
    await output.flush();
    output.write('banner\n');
    const next = openFile(path, constants.O_RDONLY);
    const expected = `${lines(1_000)}banner\n`;
    expect(await read(next, expected)).toBe(expected);
    expect(output.droppedLines).toBe(0);
  });

  itOnTerminal('has the lines of pino-pretty on a terminal', async () => {
    const program = `
      const output = new (require("./src/http/standard-output").StandardOutput)();
      output.write(JSON.stringify({ level: 30, msg: "request", path: "/" }));
      output.flush().then(() => process.exit(7));`;
    const terminal = runOnTerminal([...RUN_TYPESCRIPT, '-e', program], {});
    expect(await terminal.ended).toBe(7);
    expect(stripVTControlCharacters(terminal.output())).toMatch(/^INFO: request \{"path":"\/"\}\r?$/m);
  });

  it('lets the process exit while the reader stalls, also if a process that it has started shares the pipe', () => {
    const reader = openFile(path, constants.O_RDONLY);
    const fd = openFile(path, constants.O_WRONLY);
    const script = `
      const output = new (require('./src/http/standard-output').StandardOutput)();
      require('node:child_process').spawnSync('true', { stdio: 'inherit' });
      output.write('x'.repeat(${MEBIBYTE}));
      output.flush().then(() => process.exit(7));`;
    const { status } = spawnSync(process.execPath, ['-r', './test/support/typescript.cjs', '-e', script], {
      stdio: ['ignore', fd, fd],
      timeout: MAX_EXIT_MS,
      killSignal: 'SIGKILL',
    });
    expect(status).toBe(7);
    for (const each of [reader, fd]) closeSync(each);
  });

  it('has a metric of dropped lines', async () => {
    const logger = createLogger({ logLevel: 'info' }, { write: () => undefined, droppedLines: 3 });
    const source = { driver: {} } as DataSource;
    const { registry } = new Metrics(source, fastify(), logger, { isShared: false });
    for (let scrape = 0; scrape < 2; scrape += 1) {
      expect(await registry.metrics()).toContain('animal_store_log_lines_dropped_total 3\n');
    }
  });
});

const MAX_EXIT_MS = 30_000;
/** More than a pipe holds. */
const BUFFER = Buffer.alloc(MEBIBYTE);

function readAvailable(fd: number): string {
  try {
    return BUFFER.toString('utf8', 0, readSync(fd, BUFFER));
  } catch {
    // The pipe is empty.
    return '';
  }
}
