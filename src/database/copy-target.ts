import type { Client } from 'pg';
import { CopyError } from './copy.error';

/** What decides whether a database may be copied to. */
interface TargetFacts {
  readonly encoding: string;
  /** Tables, views, sequences and types, in any schema, but those that came with an extension. */
  readonly objects: number;
}

/** Rows of a catalog outside the schemas of the system that did not come with an extension. */
const ownOnes = (catalog: string, namespace: string, kinds: string): string => `
  (SELECT count(*)::integer FROM ${catalog} JOIN pg_namespace ON pg_namespace.oid = ${namespace}
   WHERE ${kinds} AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'
     AND NOT EXISTS (
       SELECT FROM pg_depend
       WHERE classid = '${catalog}'::regclass AND objid = ${catalog}.oid AND deptype = 'e'
     ))`;

const FACTS = `
  SELECT current_setting('server_encoding') AS encoding,
         ${ownOnes('pg_class', 'relnamespace', "relkind IN ('r', 'p', 'f', 'v', 'm', 'S', 'c')")}
         + ${ownOnes('pg_type', 'typnamespace', "typtype IN ('d', 'e', 'r')")} AS objects`;

/** @throws CopyError where the database is not an empty one that the service could use */
export async function refuseUnfitTarget(target: Client): Promise<void> {
  const [facts] = (await target.query<TargetFacts>(FACTS)).rows;
  const problem = facts && problemOf(facts);
  if (problem !== undefined) throw new CopyError(problem);
}

/** Why a database cannot be copied to, in a sentence. */
function problemOf({ encoding, objects }: TargetFacts): string | undefined {
  if (encoding !== 'UTF8') {
    return `The database in --to has the encoding ${encoding}: create one with ENCODING 'UTF8' TEMPLATE template0.`;
  }
  if (objects > 0) {
    return `The database in --to is not empty (${objects} tables, views, sequences and types): create a new one, or empty it.`;
  }
  return undefined;
}
