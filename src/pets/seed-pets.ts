import { copyIn } from '../database/copy-in';
import { plausiblePets } from './plausible-pets';

/** The columns in the order of `plausiblePets`. */
const TARGET = { table: 'pets', columns: 'name, category_id, status' } as const;

/**
 * Adds animals to the store, all of them or none: beside those that are there, and while the service runs.
 *
 * @param seed the same one makes the same animals
 * @param onProgress hears how many have been handed to the database
 * @returns how many were added
 */
export function seedPets(
  databaseUrl: string,
  count: number,
  seed: string,
  onProgress: (done: number) => void,
): Promise<number> {
  return copyIn(databaseUrl, TARGET, plausiblePets(count, seed, onProgress));
}
