import { type ListedTable, pageStatements, pageStatementsOfIds } from '../platform/database/page-statements';
import { directionOf, type Sort } from '../platform/http/page';
import type { Statement } from '../platform/database/statement';
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
  readonly sort: Sort;
}

/** Returns the statement for the pages of a list, and the parameters after the first id and the number of rows. */
export function petPages({ id, categoryId, status, sort }: PetFilter): [Statement, unknown[]] {
  const direction = directionOf(sort);
  if (id) return [OF_IDS[direction], [id, categoryId ?? null, status ?? null]];
  if (categoryId === undefined)
    return status === undefined ? [ALL[direction], []] : [BY_STATUS[direction], [status]];
  return status === undefined
    ? [BY_CATEGORY[direction], [categoryId]]
    : [BY_CATEGORY_AND_STATUS[direction], [categoryId, status]];
}
