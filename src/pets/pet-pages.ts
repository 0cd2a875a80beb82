import {
  type ListedTable,
  type PageStatements,
  pageStatements,
  pageStatementsOfIds,
} from '../platform/database/page-statements';
import type { PetStatus } from './pet-status';
import type { Pet } from './pets.dto';

export const PET_COLUMNS = 'id, name, category_id, status';

export const readPet = ([id, name, categoryId, status]: [bigint, string, bigint, PetStatus]): Pet => ({
  id,
  name,
  categoryId,
  status,
});

const PETS: ListedTable = { table: 'pets', columns: PET_COLUMNS, read: readPet };

const ALL = pageStatements(PETS, []);
const BY_STATUS = pageStatements(PETS, ['status']);
const BY_CATEGORY = pageStatements(PETS, ['category_id']);
const BY_CATEGORY_AND_STATUS = pageStatements(PETS, ['category_id', 'status']);
const OF_IDS = pageStatementsOfIds(PETS, { category_id: 'bigint', status: 'text' });

/** The animals of a list. A filter that is undefined admits all. */
export interface PetFilter {
  readonly id?: readonly bigint[];
  readonly categoryId?: bigint;
  readonly status?: PetStatus;
}

/** Returns the statements for the pages of a list, and the parameters after the first id and the number of rows. */
export function petPages({ id, categoryId, status }: PetFilter): [PageStatements, unknown[]] {
  if (id) return [OF_IDS, [id, categoryId ?? null, status ?? null]];
  if (categoryId === undefined) return status === undefined ? [ALL, []] : [BY_STATUS, [status]];
  return status === undefined ? [BY_CATEGORY, [categoryId]] : [BY_CATEGORY_AND_STATUS, [categoryId, status]];
}
