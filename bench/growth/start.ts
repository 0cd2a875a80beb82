import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { interruption } from '../interruption';
import type { Options } from '../options';
import { memoryMiB } from '../process-facts';
import { startServer } from '../servers';
import { quartilesOf } from '../statistics';
import type { Table } from '../table';
import type { World } from '../world';
import type { Say } from './growth';

const IDLE_MS = 3_000;

interface Start {
  readonly milliseconds: number;
  readonly restingMiB: number;
}

/** Measures `start:prod` on existing files of the embedded server: from the start of Node.js to the first response. */
export async function measureStart(_world: World, { rounds }: Options, say: Say): Promise<Table> {
  const dataDir = mkdtempSync(join(tmpdir(), 'animal-store-bench-start-'));
  const starts: Start[] = [];
  try {
    // The first start creates the files.
    for (let round = 0; round <= rounds; round += 1) {
      const start = await startAndRest(dataDir);
      if (round > 0) starts.push(start);
      say(`start ${round}/${rounds}: ${start.milliseconds.toFixed(0)} ms`);
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
  const [start, memory] = [
    quartilesOf(starts.map(({ milliseconds }) => milliseconds)),
    quartilesOf(starts.map(({ restingMiB }) => restingMiB)),
  ];
  return {
    title: `start:prod on a warm folder, ${rounds} times: until /readyz is 200, and memory at rest`,
    headings: ['', 'measure', 'lower quartile', 'median', 'upper quartile'],
    rows: [
      ['start', 'ms', start.low.toFixed(0), start.median.toFixed(0), start.high.toFixed(0)],
      ['idle', 'MiB', memory.low.toFixed(0), memory.median.toFixed(0), memory.high.toFixed(0)],
    ],
  };
}

async function startAndRest(dataDir: string): Promise<Start> {
  const startedAt = performance.now();
  const server = await startServer('service', { DATA_DIR: dataDir });
  try {
    const response = await fetch(`${server.url}/readyz`);
    await response.arrayBuffer();
    const milliseconds = performance.now() - startedAt;
    await sleep(IDLE_MS, undefined, { signal: interruption });
    return { milliseconds, restingMiB: memoryMiB(server.pid).now };
  } finally {
    await server.stop();
  }
}
