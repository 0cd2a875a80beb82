import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { userMessage } from '../../../src/app/user-message';
import { backupDatabase } from '../../../src/cli/backup/backup-database';
import { restoreDatabase } from '../../../src/cli/backup/restore-database';
import { schemaConfig } from '../../support/schema-config';
import type { TestDatabase } from '../../support/database';

/** A folder for the backups of one spec file. */
export function backupFolder(): { file: (name: string) => string; path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'animal-store-backup-'));
  return {
    path,
    file: (name) => join(path, name),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function backup({ url }: { readonly url: string }, path: string) {
  return backupDatabase(url, path);
}

export function restore({ url }: Pick<TestDatabase, 'url'>, path: string, config = schemaConfig(url)) {
  return restoreDatabase(config, path, (work) => work(config));
}

/** The sentence that the operator reads if the work fails; else "done". */
export function messageOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
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
    content[name] = await database.query(`SELECT ${what}::text AS row FROM "${name}" t ORDER BY 1`);
  }
  return content;
}
