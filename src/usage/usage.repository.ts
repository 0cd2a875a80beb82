import { Injectable } from '@nestjs/common';
import { Sql, type Statement, UUID } from '../database/sql';
import type { KeyUsage } from './usage.dto';

/** The counts of the requests of a key, in the order of the columns. */
export const COUNTS = ['admitted', 'rejected', 'failed', 'errors'] as const;

export type Counts = Record<(typeof COUNTS)[number], number>;

export interface KeyDay extends Counts {
  readonly accountId: bigint;
  /** Such as `2026-11-21`. */
  readonly date: string;
  readonly keyId: string;
  /** The time of its last request, in milliseconds. */
  usedAt: number;
}

/** The account is null if the store does not know it. */
type StoredUsage = KeyUsage & { readonly account: string | null };

/** Null for a key of a team's authenticator, whose id may be any text. */
const KEY_ID = `CASE WHEN key_id ~ '${UUID}' THEN key_id::uuid END`;

/**
 * In one order, which prevents deadlocks of instances. The row of a key changes once a minute; one that another transaction
 * has locked is left for the next time, because the counts must not wait.
 */
const ADD = `
  WITH last AS (
    SELECT ${KEY_ID} AS used_id, date_trunc('minute', to_timestamp(max(used_at) / 1000)) AS minute
    FROM unnest($3::text[], $8::float8[]) AS used (key_id, used_at) GROUP BY 1
  ), noted AS (
    UPDATE api_keys SET last_used_at = minute FROM (
      SELECT id, minute FROM api_keys JOIN last ON id = used_id
      WHERE last_used_at IS NULL OR last_used_at < minute FOR NO KEY UPDATE OF api_keys SKIP LOCKED
    ) AS free WHERE api_keys.id = free.id
  )
  INSERT INTO key_usage (account_id, date, key_id, ${COUNTS.join(', ')})
  SELECT * FROM unnest($1::bigint[], $2::date[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
    AS counted (account_id, date, key_id, ${COUNTS.join(', ')})
  ORDER BY account_id, date, key_id
  ON CONFLICT (account_id, date, key_id) DO UPDATE SET
    ${COUNTS.map((name) => `${name} = key_usage.${name} + excluded.${name}`).join(', ')}`;

/** Of one account, or of all. Only the primary key has the inner order (decision 22). */
const READ: Statement = {
  isPlannedAnew: true,
  text: `
  SELECT to_char(date, 'YYYY-MM-DD') AS date, a.name AS account, key_id AS "keyId", nullif(k.label, '') AS label,
         ${COUNTS.map((name) => `${name}::float8`).join(', ')}
  FROM (
    SELECT * FROM key_usage WHERE date BETWEEN coalesce($1, $2::date - 29) AND $2 AND ($4::bigint IS NULL OR account_id = $4)
    ORDER BY account_id, date, key_id LIMIT $3
  ) AS days LEFT JOIN accounts a ON a.id = account_id
  LEFT JOIN api_keys k ON k.account_id = days.account_id AND k.id = ${KEY_ID}
  ORDER BY days.date, a.name, key_id`,
};

/** By the earlier of two clocks. */
const REMOVE =
  "DELETE FROM key_usage WHERE date <= least($1, (now() AT TIME ZONE 'UTC')::date) - $2::integer";

@Injectable()
export class UsageRepository {
  constructor(private readonly sql: Sql) {}

  /** Adds to the stored counts, and records the last use of the keys: all of it or nothing. */
  async add(days: readonly KeyDay[]): Promise<void> {
    const columns = ['accountId', 'date', 'keyId', ...COUNTS, 'usedAt'] as const;
    const values = columns.map((column) => days.map((day) => day[column]));
    await this.sql.rows(ADD, values);
  }

  /** Reads at most `count` days of keys of an account, or of all accounts. @param from default: 29 days before the last */
  read(from: string | undefined, to: string, count: number | null, accountId?: bigint) {
    return this.sql.rows<StoredUsage>(READ, [from ?? null, to, count, accountId ?? null]);
  }

  /** Keeps the last `days` days of keys, and deletes the others. */
  async removeOld(today: string, days: number): Promise<void> {
    await this.sql.rows(REMOVE, [today, days]);
  }
}
