import type { Options } from '../options';
import type { Table } from '../table';
import { createWorld, type World } from '../world';
import { measureDepth } from './depth';
import { measureInstances } from './instances';
import { measureKeys } from './keys';
import { measureMemory } from './memory';
import { measureStart } from './start';

export type Say = (line: string) => void;

type Part = (world: World, options: Options, say: Say) => Promise<Table>;

const PARTS = {
  depth: measureDepth,
  keys: measureKeys,
  memory: measureMemory,
  start: measureStart,
  instances: measureInstances,
} as const satisfies Readonly<Record<string, Part>>;

export type PartName = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS) as PartName[];

/** Measures the service as data, clients and time grow. */
export async function measureGrowth(options: Options, say: Say): Promise<Table[]> {
  const tables: Table[] = [];
  const world = await createWorld();
  try {
    for (const name of options.parts) tables.push(await PARTS[name](world, options, say));
  } finally {
    await world.stop();
  }
  return tables;
}
