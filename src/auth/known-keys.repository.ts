import { Injectable } from '@nestjs/common';
import type { PlanChoice } from '../accounts';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';

/** A key with the columns of its account that a request needs. */
export interface KnownKey extends PlanChoice {
  readonly id: string;
  readonly label: string;
  readonly accountId: bigint;
  readonly accountName: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly unbannedAt: Date | null;
  /** End of the grace period of a rotated secret; null for the newest secret. */
  readonly secretValidUntil: Date | null;
}

const BY_SECRETS: Statement = {
  name: 'api_keys_by_secrets',
  isPipelined: true,
  text: `
    SELECT encode(s.secret_hash, 'hex') AS hash, k.id, k.account_id AS "accountId", a.name AS "accountName", a.plan,
           a.per_minute AS "perMinute", a.per_day AS "perDay",
           k.label, k.created_at AS "createdAt", k.scopes, k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.unbanned_at AS "unbannedAt",
           s.valid_until AS "secretValidUntil"
    FROM (
      SELECT secret_hash, id AS key_id, NULL::timestamptz AS valid_until FROM api_keys
      WHERE secret_hash = ANY ($1::bytea[])
      UNION ALL
      SELECT secret_hash, key_id, valid_until FROM rotated_secrets WHERE secret_hash = ANY ($1::bytea[])
    ) s JOIN api_keys k ON k.id = s.key_id JOIN accounts a ON a.id = k.account_id`,
};

const RECORD_USE: Statement = {
  name: 'api_keys_record_use',
  text: `
    UPDATE api_keys k SET last_used_at = u.at FROM unnest($1::uuid[], $2::timestamptz[]) AS u (id, at)
    WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`,
};

/** The statements about keys that requests need. */
@Injectable()
export class KnownKeysRepository {
  constructor(private readonly sql: Sql) {}

  /**
   * @param hashes SHA-256 of each secret as hex
   * @returns the keys by the hash of their secret; a secret of no key is missing
   */
  async findBySecretHashes(hashes: readonly string[]): Promise<Map<string, KnownKey>> {
    type Row = KnownKey & { readonly hash: string };
    const rows = await this.sql.rows<Row>(BY_SECRETS, [hashes.map((hash) => Buffer.from(hash, 'hex'))]);
    return new Map(rows.map(({ hash, ...key }) => [hash, key]));
  }

  /** @param times key id → time of the last use, in milliseconds */
  async recordUse(times: ReadonlyMap<string, number>): Promise<void> {
    await this.sql.rows(RECORD_USE, [[...times.keys()], [...times.values()].map((time) => new Date(time))]);
  }
}
