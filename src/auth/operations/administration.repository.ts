import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isKeyId } from '../keys/api-keys.service';
import { Sql } from '../../database/sql';

/** The key of a request. */
interface Administrator {
  readonly addresses: readonly string[];
  /** True if it is valid and has the scope `admin`. */
  readonly isUsable: boolean;
  /** In seconds since 1970. */
  readonly expiresAt: number;
}

/** Two numbers of our choice; the lock of migrations has one number, so they never meet. */
const LOCK = 'SELECT pg_advisory_xact_lock(7, 38)';

const FIND = `
  SELECT k.addresses, 'admin' = ANY (k.scopes) AND k.revoked_at IS NULL AND a.disabled_at IS NULL
           AND (k.expires_at IS NULL OR k.expires_at > $2) AS "isUsable",
         extract(epoch FROM coalesce(k.expires_at, 'infinity'))::float8 AS "expiresAt"
  FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = $1`;

@Injectable()
export class AdministrationRepository {
  constructor(private readonly sql: Sql) {}

  /** Waits for the other changes over HTTP, of every instance: two keys cannot revoke each other. */
  async lock(transaction: EntityManager): Promise<void> {
    await this.sql.rows(LOCK, [], transaction);
  }

  /** @returns undefined if a team's authenticator issued the key */
  async find(keyId: string, now: Date, transaction: EntityManager): Promise<Administrator | undefined> {
    if (!isKeyId(keyId)) return undefined;
    return (await this.sql.rows<Administrator>(FIND, [keyId, now], transaction))[0];
  }
}
