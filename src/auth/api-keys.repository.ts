import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, Repository } from 'typeorm';
import { type Statement, Sql } from '../database/sql';
import { ApiKeyEntity } from './api-key.entity';
import type { PlanChoice } from './plans';

/** A key with what a request needs of its account. */
export interface KnownKey extends PlanChoice {
  readonly id: string;
  readonly accountId: bigint;
  readonly accountName: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
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
}

export type NewKey = Pick<
  ApiKeyEntity,
  'accountId' | 'secretHash' | 'prefix' | 'lastFour' | 'label' | 'scopes' | 'expiresAt'
>;

const BY_SECRET: Statement = {
  name: 'api_key_by_secret',
  text: `
    SELECT k.id, k.account_id AS "accountId", a.name AS "accountName", a.plan,
           a.per_minute AS "perMinute", a.per_day AS "perDay",
           k.scopes, k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt"
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.secret_hash = $1`,
};

const LIST: Statement = {
  name: 'api_keys_list',
  text: `
    SELECT k.id, a.name AS account, k.label, k.prefix, k.last_four AS "lastFour", k.scopes,
           k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt"
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE $1::text IS NULL OR a.name = $1
    ORDER BY k.created_at, k.id`,
};

@Injectable()
export class ApiKeysRepository {
  constructor(
    @InjectRepository(ApiKeyEntity) private readonly keys: Repository<ApiKeyEntity>,
    private readonly sql: Sql,
  ) {}

  /** @param hash SHA-256 of the secret as hex */
  async findBySecretHash(hash: string): Promise<KnownKey | undefined> {
    type Row = Omit<KnownKey, 'accountId'> & { accountId: string };
    const [row] = await this.sql.rows<Row>(BY_SECRET, [Buffer.from(hash, 'hex')]);
    return row && { ...row, accountId: BigInt(row.accountId) };
  }

  /** @returns the id that the database gave */
  async insert(key: NewKey, manager: EntityManager): Promise<string> {
    const { identifiers } = await manager.insert(ApiKeyEntity, { ...key });
    return String(identifiers[0]?.['id']);
  }

  /** Keys in the order of their creation, of one account or of all. */
  list(accountName?: string): Promise<ListedKey[]> {
    return this.sql.rows<ListedKey>(LIST, [accountName ?? null]);
  }

  /** A key that was revoked before keeps the time of that. */
  async revoke(id: string, at: Date): Promise<void> {
    await this.keys.update({ id, revokedAt: IsNull() }, { revokedAt: at });
  }

  exists(id: string): Promise<boolean> {
    return this.keys.existsBy({ id });
  }
}
