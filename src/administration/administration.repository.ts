import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isKeyId } from '../accounts';
import { Sql } from '../platform/database/sql';

/** A key with the scope `admin`, or the one of the request. */
export interface Administrator {
  readonly id: string;
  readonly addresses: readonly string[];
  readonly isUsable: boolean;
  /** In seconds since 1970. */
  readonly expiresAt: number;
}

/** Two numbers of our choice; the lock of migrations has one number, so they never meet. */
const LOCK = 'SELECT pg_advisory_xact_lock(7, 38)';

const ADMINISTRATORS = `
  SELECT k.id, k.addresses, 'admin' = ANY (k.scopes) AND k.revoked_at IS NULL AND a.disabled_at IS NULL
           AND (k.expires_at IS NULL OR k.expires_at > $1) AS "isUsable",
         extract(epoch FROM coalesce(k.expires_at, 'infinity'))::float8 AS "expiresAt"
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  WHERE 'admin' = ANY (k.scopes) OR k.id = $2`;

@Injectable()
export class AdministrationRepository {
  constructor(private readonly sql: Sql) {}

  /** Waits for the other changes over HTTP, of every instance: two keys cannot revoke each other. */
  async lock(transaction: EntityManager): Promise<void> {
    await this.sql.rows(LOCK, [], transaction);
  }

  /** @param keyId not in the database if a team's authenticator issued the key */
  administrators(keyId: string, now: Date, transaction: EntityManager): Promise<Administrator[]> {
    const values = [now, isKeyId(keyId) ? keyId : null];
    return this.sql.rows<Administrator>(ADMINISTRATORS, values, transaction);
  }
}
