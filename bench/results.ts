import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { toSvg } from './svg';
import type { Table } from './table';

const FOLDER = join(__dirname, 'results');
const BYTES_PER_GIB = 1_073_741_824;

/** Describes the machine and the Node.js version, on which the figures depend. */
export function machine() {
  const processors = cpus();
  return {
    processors: processors.length,
    model: processors[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / BYTES_PER_GIB),
    node: process.version,
  };
}

/** Writes every run of a measurement as JSON and its tables as pictures. @returns the names of the files */
export function keepResults(name: string, data: object, tables: readonly Table[]): string[] {
  mkdirSync(FOLDER, { recursive: true });
  // The name includes the minute, so that no run overwrites another of the same day.
  const stem = `${new Date().toISOString().slice(0, 16).replace(':', '')}-${name}`;
  const json = join(FOLDER, `${stem}.json`);
  writeFileSync(
    json,
    `${JSON.stringify({ at: new Date().toISOString(), machine: machine(), ...data }, null, 2)}\n`,
  );
  const pictures = tables.map((table, at) => {
    const file = join(FOLDER, tables.length === 1 ? `${stem}.svg` : `${stem}-${at + 1}.svg`);
    writeFileSync(file, toSvg(table));
    return file;
  });
  return [json, ...pictures];
}
