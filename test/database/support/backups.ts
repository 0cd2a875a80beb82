import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backupDatabase, type WrittenBackup } from '../../../src/platform/database/backup/backup-database';
import { restoreDatabase, type RestoredBackup } from '../../../src/platform/database/backup/restore-database';
import { schemaConfig } from '../../support/schema-config';
import type { TestDatabase } from '../../support/database';

const ignore = (): void => undefined;

/** A folder for the backups of one spec file. */
export function backupFolder(): { file: (name: string) => string; path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'animal-store-backup-'));
  return {
    path,
    file: (name) => join(path, name),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function backup(
  { url }: { readonly url: string },
  path: string,
  { isReplacing = false, config = schemaConfig(url) } = {},
): Promise<WrittenBackup> {
  return backupDatabase(config, { path, isReplacing, program: '1.0.0' }, ignore);
}

export function restore(
  { url }: Pick<TestDatabase, 'url'>,
  path: string,
  config = schemaConfig(url),
): Promise<RestoredBackup> {
  return restoreDatabase(config, path, ignore);
}
