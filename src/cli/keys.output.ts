import type { IssuedKey, ListedKey, RotatedKey } from '../accounts';
import { minuteOf, printLine, printTable } from './output';

export function printIssued({ id, key, account, plan: name, scopes: allowed, expiresAt }: IssuedKey): void {
  printLine(`API key of the account ${account} (plan ${name}), shown only once:`);
  printLine(`  ${key}`);
  printLine(`id ${id}, expires ${minuteOf(expiresAt)}, scopes ${allowed.join(', ')}`);
}

export function printRotated({ id, key, account, expiresAt, graceEndsAt }: RotatedKey): void {
  printLine(`New secret of the key ${id} of the account ${account}, shown only once:`);
  printLine(`  ${key}`);
  printLine(
    `Older secrets expire at ${graceEndsAt.toISOString()}; every instance rejects them at most 5 s later.`,
  );
  printLine(`The key still expires at ${minuteOf(expiresAt)}.`);
}

export function printKeys(keys: readonly ListedKey[]): void {
  printTable(
    ['ID', 'ACCOUNT', 'LABEL', 'KEY', 'SCOPES', 'CREATED', 'EXPIRES', 'REVOKED', 'BANNED UNTIL', 'LAST USED'],
    keys.map(row),
  );
}

function row(key: ListedKey): string[] {
  return [
    key.id,
    key.account,
    key.label,
    `${key.prefix}…${key.lastFour}`,
    key.scopes.join(','),
    minuteOf(key.createdAt),
    minuteOf(key.expiresAt),
    minuteOf(key.revokedAt),
    minuteOf(key.bannedUntil),
    minuteOf(key.lastUsedAt),
  ];
}
