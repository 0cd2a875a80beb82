import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { LogDestination } from '../../src/platform/logging/log-destination';
import { createLogger } from '../../src/platform/logging/logger';
import { createReadableFormat } from '../../src/platform/logging/standard-output';
import { addDroppedLines } from '../../src/server/metrics/registry';
import { until } from '../support/until';

const MEBIBYTE = 1024 * 1024;
const LINE_BYTES = 256;
/** A line that contains its number, so that a missing or incomplete line is visible. */
const lineOf = (at: number) => `${JSON.stringify({ at }).padEnd(LINE_BYTES - 1)}\n`;

describe('the destination of the log', () => {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-log-'));
  const path = join(folder, 'fifo');
  beforeEach(() => execFileSync('mkfifo', [path]));
  afterEach(() => rmSync(path));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Opens a file and leaves it open: a destination writes to its descriptor until the process exits. */
  function openFile(name: string, flags: number): number {
    return openSync(name, flags | constants.O_NONBLOCK);
  }

  function destinationOf(fd: number) {
    const reports: string[] = [];
    return { destination: new LogDestination(fd, (sentence) => reports.push(sentence)), reports };
  }

  /** A destination and its reader, which reads only when the spec does. */
  function pipe() {
    const reader = openFile(path, constants.O_RDONLY);
    return { reader, ...destinationOf(openFile(path, constants.O_WRONLY)) };
  }

  /** Reads until the text ends with this line. */
  async function readUntil(last: string, reader: number): Promise<string> {
    let text = '';
    while (!text.endsWith(last)) {
      text += readAvailable(reader);
      await sleep(1);
    }
    return text;
  }

  it('writes every line in order, and reports nothing, if the reader keeps up', async () => {
    const { reader, destination, reports } = pipe();
    for (let at = 0; at < 2_000; at += 1) destination.write(lineOf(at));
    const text = await readUntil(lineOf(1_999), reader);
    expect(text).toBe(Array.from({ length: 2_000 }, (_, at) => lineOf(at)).join(''));
    expect(destination.droppedLines).toBe(0);
    expect(reports).toEqual([]);
  });

  it('keeps 4 MiB for a stalled reader, counts dropped lines, and reports begin and end once', async () => {
    const { reader, destination, reports } = pipe();
    const kept = Math.floor((4 * MEBIBYTE) / LINE_BYTES);
    for (let at = 0; at < kept + 1_000; at += 1) destination.write(lineOf(at));
    // Lines of this turn that are not written yet could still fit into the pipe.
    void destination.flush();
    expect(destination.droppedLines).toBe(1_000);
    expect(reports).toEqual([
      'The log cannot be written (its reader has stalled): lines beyond 4 MiB are dropped. Free space on its disk, or restart its reader.',
    ]);
    const text = await readUntil(lineOf(kept - 1), reader);
    expect(text).toBe(Array.from({ length: kept }, (_, at) => lineOf(at)).join(''));
    await until(() => reports.length === 2);
    expect(reports[1]).toBe('The log can be written again. Lines dropped: 1000.');
    destination.write(lineOf(7));
    expect(await readUntil(lineOf(7), reader)).toBe(lineOf(7));
    expect(destination.droppedLines).toBe(1_000);
  });

  it('writes the kept lines to a new reader of the pipe', async () => {
    const { reader, destination } = pipe();
    closeSync(reader);
    for (let at = 0; at < 10; at += 1) destination.write(lineOf(at));
    await destination.flush();
    expect(await destination.print('banner\n')).toBe(false);
    const next = openFile(path, constants.O_RDONLY);
    const lines = Array.from({ length: 10 }, (_, at) => lineOf(at)).join('');
    expect(await readUntil('banner\n', next)).toBe(`${lines}banner\n`);
  });

  it('reports a failure without a dropped line after five failed retries', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    const { destination, reports } = destinationOf(openFile('/dev/full', constants.O_WRONLY));
    destination.write(lineOf(1));
    for (let second = 1; second <= 20; second += 1) {
      await destination.flush();
      expect(reports).toHaveLength(second > 5 ? 1 : 0);
      jest.advanceTimersByTime(1_000);
    }
    jest.useRealTimers();
    expect(reports[0]).toMatch(/^The log cannot be written \(ENOSPC: .*Free space on its disk/);
  });

  it('rejects the banner with one sentence if the disk is full', async () => {
    const { destination } = destinationOf(openFile('/dev/full', constants.O_WRONLY));
    await expect(destination.print('banner\n')).rejects.toThrow(
      /^Standard output cannot be written \(ENOSPC: no space left on device, write\)\. Free space/,
    );
  });

  it('escapes control characters on a terminal', () => {
    const text = createReadableFormat()(
      '{"level":30,"path":"/\\u009b31m\\u001b[31m\\u007f","msg":"request"}\n',
    );
    expect(text).toContain('"/\\u009b31m\\u001b[31m\\u007f"');
    expect(text).not.toMatch(/[\u007f-\u009f]/);
  });

  it('has a metric of dropped lines', async () => {
    const registry = new Registry();
    const stream = { write: () => undefined, droppedLines: 3 };
    addDroppedLines(registry, createLogger({ logLevel: 'info' }, stream).droppedLines);
    for (let scrape = 0; scrape < 2; scrape += 1) {
      expect(await registry.metrics()).toContain('animal_store_log_lines_dropped_total 3\n');
    }
  });
});

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
