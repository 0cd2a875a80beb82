import { Injectable } from '@nestjs/common';
import { type EntityManager, IsNull, MoreThan } from 'typeorm';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';
import { AccountEntity } from './account.entity';
import { ApiKeyEntity } from './api-key.entity';
import { RotatedSecretEntity } from './rotated-secret.entity';
import type { PlanChoice } from './plans';
import type { StoredSecret } from './secret';

/** A key as `keys list` shows it, without its secret. */
export interface ListedKey {
  readonly id: string;
  readonly account: string;
  readonly label: string;
  readonly prefix: string;
  readonly lastFour: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Null if the key is not banned now. */
  readonly bannedUntil: Date | null;
  /** Rounded down to the minute. */
  readonly lastUsedAt: Date | null;
}

/** An administrative change as `audit list` shows it. */
export interface ListedAuditEntry {
  readonly at: Date;
  readonly command: string;
  readonly account: string | null;
  readonly keyId: string | null;
  readonly details: string;
  readonly osUser: string;
}

export type NewKey = Pick<
  ApiKeyEntity,
  'accountId' | 'secretHash' | 'prefix' | 'lastFour' | 'label' | 'scopes' | 'expiresAt'
>;

const LIST: Statement = {
  name: 'api_keys_list',
  text: `
    SELECT k.id, a.name AS account, k.label, k.prefix, k.last_four AS "lastFour", k.scopes,
           k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
           b.banned_until AS "bannedUntil", k.last_used_at AS "lastUsedAt"
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    LEFT JOIN key_bans b ON b.key_id = k.id::text AND b.banned_until > $2
    WHERE $1::text IS NULL OR a.name = $1
    ORDER BY k.created_at, k.id`,
};

/** The key may be one of a team's authenticator, so its id is any text. */
const LIFT_BAN: Statement = {
  name: 'key_bans_lift',
  text: 'DELETE FROM key_bans WHERE key_id IN ($1, lower($1)) RETURNING key_id',
};

const LIST_AUDIT: Statement = {
  name: 'audit_entries_list',
  text: `
    SELECT at, command, account, key_id AS "keyId", details, os_user AS "osUser" FROM audit_entries ORDER BY id`,
};

/** The accounts, their keys and the audit in the database. */
@Injectable()
export class AccountsRepository {
  constructor(private readonly sql: Sql) {}

  /** Locks the table until the transaction ends. @returns true if no account exists */
  async lockIfEmpty(manager: EntityManager): Promise<boolean> {
    await manager.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    return !(await manager.exists(AccountEntity));
  }

  /** Finds the account or creates it with the given plan. Concurrent calls are safe. */
  async findOrCreate(name: string, choice: PlanChoice, manager: EntityManager): Promise<AccountEntity> {
    const account = { name, ...choice };
    await manager.createQueryBuilder().insert().into(AccountEntity).values(account).orIgnore().execute();
    return manager.findOneByOrFail(AccountEntity, { name });
  }

  /** Lists all administrative changes, the oldest first. */
  listAudit(): Promise<ListedAuditEntry[]> {
    return this.sql.rows<ListedAuditEntry>(LIST_AUDIT, []);
  }

  /** @returns the id that the database assigned */
  async insert(key: NewKey, manager: EntityManager): Promise<string> {
    const { identifiers } = await manager.insert(ApiKeyEntity, { ...key });
    return String(identifiers[0]?.['id']);
  }

  /** Lists the keys of one account, or of all accounts, in the order of their creation. */
  list(accountName: string | undefined, now: Date): Promise<ListedKey[]> {
    return this.sql.rows<ListedKey>(LIST, [accountName ?? null, now]);
  }

  /** Revokes a key. A key that is already revoked keeps its first time. */
  async revoke(id: string, at: Date, manager: EntityManager): Promise<void> {
    await manager.update(ApiKeyEntity, { id, revokedAt: IsNull() }, { revokedAt: at });
  }

  async setScopes(id: string, scopes: readonly string[], manager: EntityManager): Promise<void> {
    await manager.update(ApiKeyEntity, { id }, { scopes: [...scopes] });
  }

  /** @returns true if the key was banned in the last 24 h, or still is */
  async liftBan(id: string, manager: EntityManager): Promise<boolean> {
    return (await this.sql.rows(LIFT_BAN, [id], manager)).length > 0;
  }

  /**
   * Reads a key and locks its row, so that it cannot be rotated or revoked before the transaction ends. The second of
   * two concurrent rotations therefore finds, and replaces, the secret that the first one created.
   */
  lock(id: string, manager: EntityManager): Promise<ApiKeyEntity | null> {
    return manager.findOne(ApiKeyEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  /** Replaces the secret of a key that the transaction has locked, and keeps the old one as a rotated secret. */
  async replaceSecret(
    id: string,
    secret: StoredSecret,
    graceEndsAt: Date,
    manager: EntityManager,
  ): Promise<void> {
    const { secretHash } = await manager.findOneOrFail(ApiKeyEntity, {
      select: { secretHash: true },
      where: { id },
    });
    // Older secrets keep the end of their grace period, unless the new grace period ends earlier.
    await manager.update(
      RotatedSecretEntity,
      { keyId: id, validUntil: MoreThan(graceEndsAt) },
      { validUntil: graceEndsAt },
    );
    await manager.insert(RotatedSecretEntity, { secretHash, keyId: id, validUntil: graceEndsAt });
    await manager.update(ApiKeyEntity, { id }, { ...secret });
  }
}
