import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PageRequest } from '../../api/lists/page';
import { Sql } from '../../database/sql';
import type { Plan } from '../accounts/plans';
import type { AccountKey } from './keys.dto';
import type { KeyPrefix, storedFormOf } from './secret';

/** A key as administrators see it, without its secret. */
export interface KeyDetails extends AccountKey {
  /** Ascends in the order of creation, for pages. */
  readonly number: bigint;
  readonly plan: Plan;
  readonly prefix: KeyPrefix;
  readonly expiresAt: Date | null;
}

const KEYS = `
  SELECT k.number, k.id, a.name AS account, a.plan, k.label, k.prefix, k.last_four AS "lastFour", k.scopes, k.addresses,
         k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
         b.banned_until AS "bannedUntil", k.last_used_at AS "lastUsedAt"
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  LEFT JOIN key_bans b ON b.key_id = k.id::text AND b.banned_until > $2`;

const list = (from: '>=' | '<=', order: 'ASC' | 'DESC') => `${KEYS}
  WHERE ($1::bigint IS NULL OR k.account_id = $1) AND k.number ${from} $3 ORDER BY k.number ${order} LIMIT $4`;

const FIND = `${KEYS} WHERE k.id = $1`;

/** The second of two concurrent rotations must find, and replace, the secret that the first one created. */
const LOCK = `${FIND} FOR NO KEY UPDATE OF k`;

/** The key may be one of a team's authenticator, so its id is any text. */
const LIFT_BAN = 'DELETE FROM key_bans WHERE key_id = $1 AND banned_until > $2 RETURNING key_id';

/**
 * Keeps the old secret for good: a client that still sends it gets `revoked_api_key`. Older secrets keep the end of their
 * grace period, unless the new grace period ends earlier.
 */
const REPLACE_SECRET = `
  WITH older AS (
    UPDATE rotated_secrets SET valid_until = $4 WHERE key_id = $1 AND valid_until > $4
  ), old AS (
    INSERT INTO rotated_secrets (secret_hash, key_id, valid_until)
    SELECT secret_hash, id, $4 FROM api_keys WHERE id = $1
  )
  UPDATE api_keys SET secret_hash = $2, last_four = $3 WHERE id = $1`;

@Injectable()
export class ApiKeysRepository {
  constructor(private readonly sql: Sql) {}

  /** Returns the prefix of the keys of this database; undefined before the first start of a service. */
  async keyPrefix(manager: EntityManager): Promise<KeyPrefix | undefined> {
    const [row] = await manager.query<{ prefix: KeyPrefix }[]>('SELECT key_prefix AS prefix FROM deployment');
    return row?.prefix;
  }

  /** Lists a page of keys in the order of their creation, or the other way. */
  list({ direction, first, count }: PageRequest, accountId: bigint | undefined, now: Date) {
    const text = direction === 'ascending' ? list('>=', 'ASC') : list('<=', 'DESC');
    return this.sql.rows<KeyDetails>({ text, isPlannedAnew: true }, [accountId ?? null, now, first, count]);
  }

  /** @param transaction locks the row until it ends @returns undefined if no key has the id */
  async find(id: string, now: Date, transaction?: EntityManager): Promise<KeyDetails | undefined> {
    const text = transaction ? LOCK : FIND;
    return (await this.sql.rows<KeyDetails>(text, [id, now], transaction))[0];
  }

  /** @returns true if the key had a ban */
  async liftBan(id: string, now: Date, manager: EntityManager): Promise<boolean> {
    return (await this.sql.rows(LIFT_BAN, [id, now], manager)).length > 0;
  }

  /** Replaces the secret of a key that the transaction has locked, and keeps the old one as a rotated secret. */
  async replaceSecret(
    id: string,
    secret: ReturnType<typeof storedFormOf>,
    graceEndsAt: Date,
    manager: EntityManager,
  ): Promise<void> {
    await this.sql.rows(REPLACE_SECRET, [id, secret.secretHash, secret.lastFour, graceEndsAt], manager);
  }
}
