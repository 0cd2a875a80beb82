import { randomUUID } from 'node:crypto';
import { runBuilt } from '../../support/service';

interface NewKey {
  /** Default: a new account. */
  readonly account?: string;
  /** Default: the scopes of `keys create`. */
  readonly scopes?: readonly string[];
}

/** Creates a key of an account whose limits no spec reaches. */
export async function createKey(
  environment: Record<string, string>,
  { account = randomUUID(), scopes = [] }: NewKey = {},
): Promise<string> {
  const limits = ['--plan', 'enterprise', '--per-minute', '1000000000', '--per-day', '1000000000'];
  const chosen = scopes.length > 0 ? ['--scopes', scopes.join()] : [];
  const args = ['keys', 'create', '--account', account, ...limits, ...chosen, '--json'];
  const command = runBuilt('cli/main', args, environment);
  expect(await command.ended).toBe(0);
  return (JSON.parse(command.standardOutput()) as { key: string }).key;
}
