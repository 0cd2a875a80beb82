import { Injectable } from '@nestjs/common';
import { isKeyId } from '../accounts';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';

/** A temporary ban of a key. Times are milliseconds since the epoch. */
export interface Ban {
  readonly keyId: string;
  readonly bannedAt: number;
  readonly bannedUntil: number;
}

const RECORD_BANS: Statement = {
  name: 'api_keys_record_bans',
  text: `
    UPDATE api_keys k SET banned_at = b.banned_at, banned_until = b.banned_until
    FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) AS b (id, banned_at, banned_until)
    WHERE k.id = b.id
    RETURNING k.id AS "keyId"`,
};

/** Also removes the bans that no longer affect a decision when these begin. */
const RECORD_EXTERNAL_BANS: Statement = {
  name: 'external_key_bans_record',
  text: `
    WITH ended AS (
      DELETE FROM external_key_bans
      WHERE key_id <> ALL ($1::text[]) AND greatest(banned_until, banned_at + interval '24 hours') < $4::timestamptz
    )
    INSERT INTO external_key_bans (key_id, banned_at, banned_until)
    SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[])
    ON CONFLICT (key_id) DO UPDATE SET banned_at = excluded.banned_at, banned_until = excluded.banned_until`,
};

const RECENT_BANS: Statement = {
  name: 'api_keys_recent_bans',
  text: `
    SELECT "keyId", banned_at AS "bannedAt", banned_until AS "bannedUntil" FROM (
      SELECT id::text AS "keyId", banned_at, banned_until FROM api_keys
      UNION ALL SELECT key_id, banned_at, banned_until FROM external_key_bans
    ) AS bans
    WHERE banned_until > $1 OR banned_at > $1::timestamptz - interval '24 hours'`,
};

/** Stores bans, so that they survive a restart. */
@Injectable()
export class BansRepository {
  constructor(private readonly sql: Sql) {}

  /** Records bans with their key, or by its id if an authenticator of a team names the key. */
  async record(bans: readonly Ban[]): Promise<void> {
    const ours = columnsOf(bans.filter(({ keyId }) => isKeyId(keyId)));
    const recorded = await this.sql.rows<Pick<Ban, 'keyId'>>(RECORD_BANS, ours);
    const known = new Set(recorded.map(({ keyId }) => keyId));
    const external = bans.filter(({ keyId }) => !known.has(keyId));
    if (external.length === 0) return;
    const newest = new Date(Math.max(...external.map(({ bannedAt }) => bannedAt)));
    await this.sql.rows(RECORD_EXTERNAL_BANS, [...columnsOf(external), newest]);
  }

  /** Returns the bans that are active or began in the 24 h before `now` (milliseconds), lifted bans included. */
  async recent(now: number): Promise<Ban[]> {
    type Row = { readonly keyId: string; readonly bannedAt: Date; readonly bannedUntil: Date };
    const rows = await this.sql.rows<Row>(RECENT_BANS, [new Date(now)]);
    return rows.map(({ keyId, bannedAt, bannedUntil }) => ({
      keyId,
      bannedAt: bannedAt.getTime(),
      bannedUntil: bannedUntil.getTime(),
    }));
  }
}

function columnsOf(bans: readonly Ban[]): unknown[] {
  return [
    bans.map(({ keyId }) => keyId),
    bans.map(({ bannedAt }) => new Date(bannedAt)),
    bans.map(({ bannedUntil }) => new Date(bannedUntil)),
  ];
}
