import { userInfo } from 'node:os';

/** One administrative change. */
export interface AuditEntry {
  /** The command without its arguments, such as `keys revoke`. */
  readonly command: string;
  /** The name of the account that it changed. */
  readonly account?: string | undefined;
  readonly keyId?: string;
  /** The new values, for a person. Never a secret. */
  readonly details?: string;
}

/** Records a change inside its transaction, with the operating-system user of this process. */
export async function recordAudit(
  transaction: { readonly query: (text: string, values: unknown[]) => Promise<unknown> },
  { command, account, keyId, details = '' }: AuditEntry,
): Promise<void> {
  await transaction.query(
    'INSERT INTO audit_entries (command, account, key_id, details, os_user) VALUES ($1, $2, $3, $4, $5)',
    [command, account ?? null, keyId ?? null, details, systemUser()],
  );
}

/** Returns the name of the user, or its number: a container may run as a user without a name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
