import type { Client } from 'pg';
import { UserError } from '../../errors/user-error';

/** The properties of a target database that are checked. */
interface TargetFacts {
  readonly encoding: string;
  /** Number of tables, views, sequences and types in all schemas, without those of extensions. */
  readonly objects: number;
}

/** Counts rows of a catalog, without those of the system's schemas and of extensions. */
const countOwn = (catalog: string, namespace: string, kinds: string): string => `
  (SELECT count(*)::integer FROM ${catalog} JOIN pg_namespace ON pg_namespace.oid = ${namespace}
   WHERE ${kinds} AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'
     AND NOT EXISTS (
       SELECT FROM pg_depend
       WHERE classid = '${catalog}'::regclass AND objid = ${catalog}.oid AND deptype = 'e'
     ))`;

const FACTS = `
  SELECT current_setting('server_encoding') AS encoding,
         ${countOwn('pg_class', 'relnamespace', "relkind IN ('r', 'p', 'f', 'v', 'm', 'S', 'c')")}
         + ${countOwn('pg_type', 'typnamespace', "typtype IN ('d', 'e', 'r')")} AS objects`;

/**
 * @param place names the database in sentences
 * @throws UserError unless the database is empty and its encoding is UTF-8
 */
export async function rejectUnfitTarget(target: Client, place: string): Promise<void> {
  const [facts] = (await target.query<TargetFacts>(FACTS)).rows;
  const problem = facts && problemOf(facts);
  if (problem !== undefined) throw new UserError(`${place} ${problem}`);
}

/** Returns the rest of a sentence for the operator if the database cannot be the target. */
function problemOf({ encoding, objects }: TargetFacts): string | undefined {
  if (encoding !== 'UTF8') {
    return `has the encoding ${encoding}: create one with ENCODING 'UTF8' TEMPLATE template0.`;
  }
  if (objects > 0) {
    return `is not empty (${objects} tables, views, sequences and types): create a new one, or empty it.`;
  }
  return undefined;
}
