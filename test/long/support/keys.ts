import { randomUUID } from 'node:crypto';
import { createStore } from '../../../src/app/store';
import { runBuilt } from '../../support/service';

/** The scopes of the store's staff, and all others. */
export const ALL_SCOPES: readonly string[] = createStore().scopes;

const NO_LIMIT = '1000000000';

interface NewKey {
  /** Default: a new account. */
  readonly account?: string;
  /** Default: the scopes of `keys create`. */
  readonly scopes?: readonly string[];
}

/** Creates a key of an account of the plan `enterprise`. */
export async function createKey(
  environment: Record<string, string>,
  { account = randomUUID(), scopes = [] }: NewKey = {},
): Promise<string> {
  const limits = ['--plan', 'enterprise', '--per-minute', NO_LIMIT, '--per-day', NO_LIMIT];
  const chosen = scopes.length > 0 ? ['--scopes', scopes.join()] : [];
  const args = ['keys', 'create', '--account', account, ...limits, ...chosen, '--json'];
  const command = runBuilt('cli/main', args, environment);
  expect(await command.ended).toBe(0);
  return (JSON.parse(command.standardOutput()) as { key: string }).key;
}
