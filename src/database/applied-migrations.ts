import { CORE_MIGRATIONS } from './migrations/core.migrations';
import { UserError } from '../config/user-error';

/** A migration of the database; `extension` is null for one of the store. */
export interface AppliedMigration {
  readonly name: string;
  readonly extension: string | null;
}

/** Parts of a database: `target` is the schema of new tables, with `relations`, and `present` that of the migrations. */
interface Found {
  readonly migrations: boolean;
  readonly target: string | null;
  readonly present: string | null;
  readonly relations: string[];
}

/** Version 1.0 has no extensions. PostgreSQL's own, such as `pg_stat_statements`, have relations of no program. */
const FOUND = `
  SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('migrations') AND relkind = 'r')
           AND to_regclass('extension_migrations') IS NOT NULL AS migrations,
         quote_ident(current_schema()) AS target,
         (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass('migrations')) AS present,
         ARRAY(SELECT relname::text FROM pg_class
               WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind NOT IN ('i', 'I', 't', 'c')
                 AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
               ORDER BY relname LIMIT 3) AS relations`;

/** Every version of the store begins with this migration. A table of another program may have other columns. */
const OURS = `SELECT FROM migrations AS found WHERE to_jsonb(found) ->> 'name' = '${CORE_MIGRATIONS[0].name}'`;

/**
 * Returns the migrations of the database, in the order in which they were applied.
 *
 * @param database a connection of TypeORM, or of a backup
 * @throws UserError if new tables would be in another schema than these: a backup would lack one of the two;
 *   or if tables of another program, or of version 1.0, are there
 */
export async function readApplied(database: {
  query<Row extends object>(text: string): Promise<Row[]>;
}): Promise<AppliedMigration[]> {
  const [{ migrations, target, present, relations = [] } = {}] = await database.query<Partial<Found>>(FOUND);
  if (target && (target.startsWith('pg_') || target !== (present ?? target)))
    throw new UserError(
      `New tables would be in the schema ${target}, not in ${present ?? 'public'}: let the search_path of the user in DATABASE_URL name only the schema of the store.`,
    );
  if (!migrations || (await database.query(OURS)).length === 0) {
    if (relations.length === 0) return [];
    throw new UserError(
      `The database belongs to another program, or to Animal Store 1.0, which 1.1 must migrate first (it has ${relations.join(', ')}): set DATABASE_URL to an empty database, or to an empty schema with ?options=-csearch_path%3DNAME.`,
    );
  }
  return database.query(`
    SELECT name, extension FROM migrations LEFT JOIN extension_migrations USING (name) ORDER BY migrations.id`);
}
