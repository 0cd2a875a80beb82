import type { DatabaseConfig } from '../platform/database/data-source';
import { migrate } from '../platform/database/migrate';
import type { Logger } from '../platform/logging/logger';
import type { Store } from './store';

/**
 * Migrates the database, and logs a sentence for each removed extension.
 *
 * @returns these sentences, for the operator
 * @throws UserError, OldServerError
 */
export async function migrateStore(
  config: DatabaseConfig,
  { migrations }: Store,
  logger: Logger,
): Promise<string[]> {
  const { removed } = await migrate({ ...config, migrations });
  const notices = removed.map(
    (name) => `The tables of the removed extension ${name} stay: "db forget ${name}" deletes them.`,
  );
  for (const notice of notices) logger.info(notice);
  return notices;
}
