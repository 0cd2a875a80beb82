import { Injectable } from '@nestjs/common';
import { type Statement, Sql } from '../platform/database/sql';

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
    WHERE k.id = b.id`,
};

const RECENT_BANS: Statement = {
  name: 'api_keys_recent_bans',
  text: `
    SELECT id AS "keyId", banned_at AS "bannedAt", banned_until AS "bannedUntil" FROM api_keys
    WHERE banned_until > $1 OR banned_at > $1::timestamptz - interval '24 hours'`,
};

/** Stores bans, so that they survive a restart. */
@Injectable()
export class BansRepository {
  constructor(private readonly sql: Sql) {}

  async record(bans: readonly Ban[]): Promise<void> {
    await this.sql.rows(RECORD_BANS, [
      bans.map(({ keyId }) => keyId),
      bans.map(({ bannedAt }) => new Date(bannedAt)),
      bans.map(({ bannedUntil }) => new Date(bannedUntil)),
    ]);
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
