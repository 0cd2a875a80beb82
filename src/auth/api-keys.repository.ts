import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, Repository } from 'typeorm';
import { type Statement, Sql } from '../database/sql';
import { ApiKeyEntity } from './api-key.entity';
import type { PlanChoice } from './plans';
import type { Scope } from './scopes';

/** A key with what a request needs of its account. */
export interface KnownKey extends PlanChoice {
  readonly id: string;
  readonly accountId: bigint;
  readonly accountName: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly unbannedAt: Date | null;
  /** End of the grace of a secret that was rotated out; null for the newest one. */
  readonly secretValidUntil: Date | null;
}

/** A temporary ban of a key. Times are milliseconds since the epoch. */
export interface Ban {
  readonly keyId: string;
  readonly bannedAt: number;
  readonly bannedUntil: number;
}

/** A key as it is listed: all but its secret. */
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
  /** Null where no ban is running. */
  readonly bannedUntil: Date | null;
  /** To the minute. */
  readonly lastUsedAt: Date | null;
}

export type NewKey = Pick<
  ApiKeyEntity,
  'accountId' | 'secretHash' | 'prefix' | 'lastFour' | 'label' | 'scopes' | 'expiresAt'
>;

const BY_SECRETS: Statement = {
  name: 'api_keys_by_secrets',
  text: `
    SELECT encode(s.secret_hash, 'hex') AS hash, k.id, k.account_id AS "accountId", a.name AS "accountName", a.plan,
           a.per_minute AS "perMinute", a.per_day AS "perDay",
           k.scopes, k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.unbanned_at AS "unbannedAt",
           s.valid_until AS "secretValidUntil"
    FROM (
      SELECT secret_hash, id AS key_id, NULL::timestamptz AS valid_until FROM api_keys
      WHERE secret_hash = ANY ($1::bytea[])
      UNION ALL
      SELECT secret_hash, key_id, valid_until FROM rotated_secrets WHERE secret_hash = ANY ($1::bytea[])
    ) s JOIN api_keys k ON k.id = s.key_id JOIN accounts a ON a.id = k.account_id`,
};

const LIST: Statement = {
  name: 'api_keys_list',
  text: `
    SELECT k.id, a.name AS account, k.label, k.prefix, k.last_four AS "lastFour", k.scopes,
           k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
           CASE WHEN k.banned_until > $2 AND k.banned_at > coalesce(k.unbanned_at, '-infinity')
             THEN k.banned_until END AS "bannedUntil",
           k.last_used_at AS "lastUsedAt"
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE $1::text IS NULL OR a.name = $1
    ORDER BY k.created_at, k.id`,
};

const RECORD_BANS: Statement = {
  name: 'api_keys_record_bans',
  text: `
    UPDATE api_keys k SET banned_at = b.banned_at, banned_until = b.banned_until
    FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) AS b (id, banned_at, banned_until)
    WHERE k.id = b.id`,
};

const RECENT_BANS: Statement = {
  name: 'api_keys_recent_bans',
  text: `
    SELECT id AS "keyId", banned_at AS "bannedAt", banned_until AS "bannedUntil" FROM api_keys
    WHERE banned_until > $1 OR banned_at > $1::timestamptz - interval '24 hours'`,
};

/** Never before the ban itself, whose clock may be ahead of ours. */
const LIFT_BAN: Statement = {
  name: 'api_keys_lift_ban',
  text: 'UPDATE api_keys SET unbanned_at = greatest($2::timestamptz, banned_at) WHERE id = $1',
};

const RECORD_USE: Statement = {
  name: 'api_keys_record_use',
  text: `
    UPDATE api_keys k SET last_used_at = u.at FROM unnest($1::uuid[], $2::timestamptz[]) AS u (id, at)
    WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`,
};

@Injectable()
export class ApiKeysRepository {
  constructor(
    @InjectRepository(ApiKeyEntity) private readonly keys: Repository<ApiKeyEntity>,
    private readonly sql: Sql,
  ) {}

  /**
   * @param hashes SHA-256 of each secret as hex
   * @returns the keys of those that belong to one, by their hash
   */
  async findBySecretHashes(hashes: readonly string[]): Promise<Map<string, KnownKey>> {
    type Row = KnownKey & { readonly hash: string };
    const rows = await this.sql.rows<Row>(BY_SECRETS, [hashes.map((hash) => Buffer.from(hash, 'hex'))]);
    return new Map(rows.map(({ hash, ...key }) => [hash, key]));
  }

  /** @returns the id that the database gave */
  async insert(key: NewKey, manager: EntityManager): Promise<string> {
    const { identifiers } = await manager.insert(ApiKeyEntity, { ...key });
    return String(identifiers[0]?.['id']);
  }

  /** Keys in the order of their creation, of one account or of all. */
  list(accountName: string | undefined, now: Date): Promise<ListedKey[]> {
    return this.sql.rows<ListedKey>(LIST, [accountName ?? null, now]);
  }

  /** A key that was revoked before keeps the time of that. */
  async revoke(id: string, at: Date): Promise<void> {
    await this.keys.update({ id, revokedAt: IsNull() }, { revokedAt: at });
  }

  async setScopes(id: string, scopes: readonly Scope[]): Promise<void> {
    await this.keys.update({ id }, { scopes: [...scopes] });
  }

  async liftBan(id: string, at: Date): Promise<void> {
    await this.sql.rows(LIFT_BAN, [id, at]);
  }

  async recordBans(bans: readonly Ban[]): Promise<void> {
    await this.sql.rows(RECORD_BANS, [
      bans.map(({ keyId }) => keyId),
      bans.map(({ bannedAt }) => new Date(bannedAt)),
      bans.map(({ bannedUntil }) => new Date(bannedUntil)),
    ]);
  }

  /** Bans that are running, or began within 24 h of a time (milliseconds); those lifted by hand included. */
  async recentBans(now: number): Promise<Ban[]> {
    type Row = { readonly keyId: string; readonly bannedAt: Date; readonly bannedUntil: Date };
    const rows = await this.sql.rows<Row>(RECENT_BANS, [new Date(now)]);
    return rows.map(({ keyId, bannedAt, bannedUntil }) => ({
      keyId,
      bannedAt: bannedAt.getTime(),
      bannedUntil: bannedUntil.getTime(),
    }));
  }

  /** @param times key id → when it was last used, in milliseconds */
  async recordUse(times: ReadonlyMap<string, number>): Promise<void> {
    await this.sql.rows(RECORD_USE, [[...times.keys()], [...times.values()].map((time) => new Date(time))]);
  }

  exists(id: string): Promise<boolean> {
    return this.keys.existsBy({ id });
  }
}
