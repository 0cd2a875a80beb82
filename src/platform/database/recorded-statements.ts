import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The clock of JavaScript advances in the meantime. */
const CLOCK_STEP_MS = 2;

/**
 * Lists the statements of a migration's `up`, in one line each, without running them.
 *
 * @returns undefined if `up` needs more than `query` of the runner, such as a row
 */
export async function recordedStatements(
  create: new () => MigrationInterface,
): Promise<string[] | undefined> {
  const statements: string[] = [];
  const query = (text: string): Promise<unknown[]> => {
    statements.push(text.replaceAll(/\s+/g, ' ').trim());
    return Promise.resolve([]);
  };
  try {
    // Any other member is undefined, and its call fails.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    await new create().up({ query } as QueryRunner);
    return statements;
  } catch {
    return undefined;
  }
}

/** Returns the SHA-256 of the statements of a migration's `up`; null if they are unknown, or contain the time. */
export async function fingerprintOf(create: new () => MigrationInterface): Promise<string | null> {
  const first = await recordedStatements(create);
  await setTimeout(CLOCK_STEP_MS);
  const second = await recordedStatements(create);
  if (!first || first.join(';') !== second?.join(';')) return null;
  return hash('sha256', first.join(';'));
}
