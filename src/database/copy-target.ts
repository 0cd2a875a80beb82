import type { Client } from 'pg';
import { CopyError } from './copy.error';

const OLDEST_VERSION = 15;
const VERSION_UNIT = 10_000;

/** What decides whether a database may be copied to. */
export interface TargetFacts {
  /** Major version of the server. */
  readonly version: number;
  readonly encoding: string;
  /** Tables, views and sequences, in any schema, but those that came with an extension. */
  readonly relations: number;
}

const FACTS = `
  SELECT current_setting('server_version_num')::integer / ${VERSION_UNIT} AS version,
         current_setting('server_encoding') AS encoding,
         (SELECT count(*)::integer FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
          WHERE relkind IN ('r', 'p', 'f', 'v', 'm', 'S')
            AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'
            AND NOT EXISTS (
              SELECT FROM pg_depend
              WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
            )) AS relations`;

/** @throws CopyError where the database is not an empty one that the service could use */
export async function refuseUnfitTarget(target: Client): Promise<void> {
  const [facts] = (await target.query<TargetFacts>(FACTS)).rows;
  const problem = facts && problemOf(facts);
  if (problem !== undefined) throw new CopyError(problem);
}

/** Why a database cannot be copied to, in a sentence. */
export function problemOf({ version, encoding, relations }: TargetFacts): string | undefined {
  if (version < OLDEST_VERSION) {
    return `The server in --to is PostgreSQL ${version}: Animal Store needs version ${OLDEST_VERSION} or newer.`;
  }
  if (encoding !== 'UTF8') {
    return `The database in --to has the encoding ${encoding}: create one with ENCODING 'UTF8' TEMPLATE template0.`;
  }
  if (relations > 0) {
    return `The database in --to is not empty (${relations} tables, views and sequences): create a new one, or empty it.`;
  }
  return undefined;
}
