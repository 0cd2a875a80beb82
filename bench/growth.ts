import type { Options } from './options';
import type { Table } from './table';
export function measureGrowth(_options: Options, _say: (line: string) => void): Promise<Table[]> {
  return Promise.resolve([]);
}
