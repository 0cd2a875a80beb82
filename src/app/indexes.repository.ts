import { LISTS } from '../platform/database/lists';
import type { Sql } from '../platform/database/sql';

/** The definitions of the whole and valid indexes of each table. */
const FIND_INDEXES = `
  SELECT name, ARRAY(
    SELECT replace(pg_get_indexdef(indexrelid, 0, true), '"', '') FROM pg_index
    WHERE indrelid = t.oid AND indisvalid AND indpred IS NULL
  ) AS known
  FROM unnest($1::text[]) AS name JOIN pg_class t ON t.oid = to_regclass(name) AND t.relkind IN ('r', 'p')`;

/**
 * Lists the statements that create the missing indexes of the lists whose table exists, each of them for a combination of
 * filters.
 */
export async function missingIndexes(sql: Sql): Promise<string[]> {
  const names = LISTS.map(({ table }) => table.table);
  const found = await sql.rows<{ name: string; known: string[] }>(FIND_INDEXES, [names]);
  const missing = found.flatMap(({ name, known }) =>
    LISTS.filter(({ table }) => table.table === name)
      .flatMap((list) => list.indexes())
      .filter((columns) => !known.some((each) => begins(each, columns)))
      .map((columns) => `CREATE INDEX ON ${name} (${columns})`),
  );
  return [...new Set(missing)];
}

/** True if a definition without quotes is of a B-tree that begins with these columns. */
function begins(definition: string, columns: string): boolean {
  const [, all = ''] = definition.split(' USING btree (');
  return [', ', ')'].some((end) => all.startsWith(columns.replaceAll('"', '') + end));
}
