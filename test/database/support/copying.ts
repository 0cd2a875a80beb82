import { schemaConfig } from '../../support/schema-config';
import { copyDatabase } from '../../../src/platform/database/copy/copy-database';
import type { CopiedTable } from '../../../src/platform/database/copy/fill-database';
import { userMessage } from '../../../src/app/user-message';
import type { TestDatabase } from '../../support/database';

export function copy(
  source: TestDatabase,
  target: { readonly url: string },
  onTable: (copied: CopiedTable) => void = () => undefined,
): Promise<readonly CopiedTable[]> {
  return copyDatabase(schemaConfig(source.url), target.url, onTable);
}

/** The sentence that the operator reads if the copy fails; else "copied". */
export function messageOf(copying: Promise<unknown>): Promise<string> {
  return copying.then(
    () => 'copied',
    (error: unknown) => userMessage(error),
  );
}

export function relationsOf(database: TestDatabase): Promise<unknown[]> {
  return database.query(`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`);
}

/** Reads every row of every table, and every sequence, as text. */
export async function contentOf(database: TestDatabase): Promise<Record<string, unknown>> {
  const relations = await database.query<{ name: string; kind: string }>(
    `SELECT relname AS name, relkind AS kind FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') ORDER BY 1`,
  );
  const content: Record<string, unknown> = {};
  for (const { name, kind } of relations) {
    const what = kind === 'S' ? '(last_value, is_called)' : 't';
    content[name] = await database.query(`SELECT ${what}::text AS row FROM ${name} t ORDER BY 1`);
  }
  return content;
}
