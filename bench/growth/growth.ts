import type { Options } from '../options';
import type { Table } from '../table';
import { createWorld, type World } from '../world';
import { measureDepth } from './depth';
import { measureKeys } from './keys';
import { measureMemory } from './memory';
import { measureStart } from './start';

export type Say = (line: string) => void;

type Part = (world: World, options: Options, say: Say) => Promise<Table>;

const PARTS: Readonly<Record<string, Part>> = {
  depth: measureDepth,
  keys: measureKeys,
  memory: measureMemory,
  start: measureStart,
};

/** What becomes of the service as data, clients and time grow. */
export async function measureGrowth(options: Options, say: Say): Promise<Table[]> {
  const names = options.parts.length > 0 ? options.parts : Object.keys(PARTS);
  const tables: Table[] = [];
  const world = await createWorld();
  try {
    for (const name of names) {
      const part = PARTS[name];
      if (!part) throw new Error(`There is no part "${name}".`);
      tables.push(await part(world, options, say));
    }
  } finally {
    await world.stop();
  }
  return tables;
}
