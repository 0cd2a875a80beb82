import { copyIn } from '../../platform/database/copy/copy-in';
import { plausiblePets } from './plausible-pets';

/** The columns in the order of `plausiblePets`. */
const TARGET = { table: 'pets', columns: 'name, category_id, status' } as const;

/**
 * Adds animals to the store, all or none. Existing animals stay, and the service may run.
 *
 * @param seed the same seed makes the same animals
 * @param onProgress receives the number of animals sent so far
 * @returns the number of added animals
 */
export function seedPets(
  databaseUrl: string,
  count: number,
  seed: string,
  onProgress: (done: number) => void,
): Promise<number> {
  return copyIn(databaseUrl, TARGET, plausiblePets(count, seed, onProgress));
}
