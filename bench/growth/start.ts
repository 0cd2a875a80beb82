import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Options } from '../options';
import { memoryMiB } from '../process-facts';
import { startServer } from '../servers';
import { quartilesOf } from '../statistics';
import type { Table } from '../table';
import type { World } from '../world';
import type { Say } from './growth';

const IDLE_MS = 3_000;

/** `start:prod` with the embedded server whose files are there already: from node's start to the first answer. */
export async function measureStart(_world: World, { rounds }: Options, say: Say): Promise<Table> {
  const dataDir = mkdtempSync(join(tmpdir(), 'animal-store-bench-start-'));
  const milliseconds: number[] = [];
  const idle: number[] = [];
  // The first one creates the files.
  for (let round = 0; round <= rounds; round += 1) {
    const startedAt = performance.now();
    const server = await startServer('service', { DATA_DIR: dataDir });
    const answer = await fetch(`${server.url}/readyz`);
    await answer.arrayBuffer();
    if (round > 0) milliseconds.push(performance.now() - startedAt);
    await sleep(IDLE_MS);
    idle.push(memoryMiB(server.pid).now);
    await server.stop();
    say(`start ${round}/${rounds}: ${(milliseconds.at(-1) ?? 0).toFixed(0)} ms`);
  }
  rmSync(dataDir, { recursive: true, force: true });
  const [start, memory] = [quartilesOf(milliseconds), quartilesOf(idle)];
  return {
    title: `start:prod on a warm folder, ${rounds} times: until /readyz answered 200, and memory at rest`,
    headings: ['', 'measure', 'lower quartile', 'median', 'upper quartile'],
    rows: [
      ['start', 'ms', start.low.toFixed(0), start.median.toFixed(0), start.high.toFixed(0)],
      ['idle', 'MiB', memory.low.toFixed(0), memory.median.toFixed(0), memory.high.toFixed(0)],
    ],
  };
}
