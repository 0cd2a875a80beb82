import { createHash } from 'node:crypto';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lists the statements of a migration's `up`, in one line each, without running them. None: it needs rows, or more. */
export async function recordedStatements(create: new () => MigrationInterface): Promise<string[]> {
  const statements: string[] = [];
  const query = async (text: string): Promise<unknown[]> => {
    statements.push(text.replaceAll(/\s+/g, ' ').trim());
    return [];
  };
  try {
    // Any other member is undefined, and its call fails.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    await new create().up({ query } as QueryRunner);
    return statements;
  } catch {
    return [];
  }
}

/** Returns the SHA-256 of the statements of a migration's `up`; null if they are unknown. */
export async function fingerprintOf(create: new () => MigrationInterface): Promise<string | null> {
  const text = (await recordedStatements(create)).join(';');
  return text === '' ? null : createHash('sha256').update(text).digest('hex');
}
