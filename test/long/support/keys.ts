import { randomUUID } from 'node:crypto';
import { runBuilt } from '../../support/service';

/** A key of an account of its own, whose limits nobody reaches. */
export async function createKey(environment: Record<string, string>): Promise<string> {
  const numbers = ['--per-minute', '1000000000', '--per-day', '1000000000'];
  const args = ['keys', 'create', '--account', randomUUID(), '--plan', 'enterprise', ...numbers, '--json'];
  const command = runBuilt('cli/main', args, environment);
  expect(await command.ended).toBe(0);
  return (JSON.parse(command.standardOutput()) as { key: string }).key;
}
