import { randomUUID } from 'node:crypto';
import { runBuilt } from '../../support/service';

/** Creates a key of a new account, whose limits no spec reaches. */
export async function createKey(environment: Record<string, string>): Promise<string> {
  const numbers = ['--per-minute', '1000000000', '--per-day', '1000000000'];
  const args = ['keys', 'create', '--account', randomUUID(), '--plan', 'enterprise', ...numbers, '--json'];
  const command = runBuilt('cli/main', args, environment);
  expect(await command.ended).toBe(0);
  return (JSON.parse(command.standardOutput()) as { key: string }).key;
}
