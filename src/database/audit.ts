import { userInfo } from 'node:os';
import { RevokedKeyError } from './database-errors';
import { UUID } from './sql';

interface AuditedChange {
  /** The command without its arguments, such as `keys revoke`. */
  readonly command: string;
  /** The name of the account that it changed. */
  readonly account?: string | undefined;
  readonly keyId?: string;
  /** The new values, for a person. Never a secret. */
  readonly details?: string | undefined;
  /** The id of the key that made the change over HTTP; undefined for a command. */
  readonly madeByKey?: string | undefined;
}

/** Null for a key of a team's authenticator, whose id may be any text. */
const KEY_ID = `CASE WHEN $5 ~ '${UUID}' THEN $5::uuid END`;

/**
 * Records a change inside its transaction. A change by a command has the operating-system user of this process.
 *
 * @throws RevokedKeyError
 */
export async function recordAudit(
  transaction: { readonly query: (text: string, values: unknown[]) => Promise<unknown> },
  { command, account, keyId, details = '', madeByKey }: AuditedChange,
): Promise<void> {
  // The table of an earlier version has no column made_by_key.
  const maker = madeByKey === undefined ? 'os_user' : 'made_by_key';
  const added = await transaction.query(
    `INSERT INTO audit_entries (command, account, key_id, details, ${maker})
     SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (
       SELECT FROM api_keys WHERE id = ${KEY_ID} AND revoked_at IS NOT NULL
     ) RETURNING id`,
    [command, account ?? null, keyId ?? null, details, madeByKey ?? systemUser()],
  );
  if (Array.isArray(added) && added.length === 0) throw new RevokedKeyError();
}

/** Returns the name of the user, or its number: a container may run as a user without a name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
