import { Injectable } from '@nestjs/common';
import { InjectEntityManager } from '@nestjs/typeorm';
import { EntityManager, type FindOneOptions, In } from 'typeorm';
import { pages } from '../platform/database/lists';
import { Sql } from '../platform/database/sql';
import type { PageRequest } from '../platform/paging/page';
import { AccountEntity } from './account.entity';
import { accountErrors } from './accounts.errors';
import { ApiKeyEntity } from './api-key.entity';
import type { PlanChoice } from './plans';
import type { KeyPrefix, storedFormOf } from './secret';

/** The query of the account name of a row; null while the account is disabled. */
export const nameOfEnabled = (row: string) =>
  `SELECT name FROM accounts WHERE id = ${row}.account_id AND disabled_at IS NULL`;

/** A key as `keys list` shows it, without its secret. */
export interface ListedKey extends Omit<ApiKeyEntity, 'accountId' | 'secretHash'> {
  readonly account: string;
  /** Null if the key is not banned now. */
  readonly bannedUntil: Date | null;
}

export interface ListedAuditEntry {
  readonly id: bigint;
  readonly at: Date;
  readonly command: string;
  readonly account: string | null;
  readonly keyId: string | null;
  readonly details: string;
  /** The user of the system that ran the command; null for a change over HTTP. */
  readonly osUser: string | null;
  /** The id of the key that made the change over HTTP; null for a command. */
  readonly madeByKey: string | null;
}

/** Which keys to list; all by default. */
export interface KeyFilter {
  readonly account?: string | undefined;
  /** Only valid keys that expire before this time. */
  readonly expiring?: Date | undefined;
  readonly revoked?: true;
  /** Only keys that are banned now. */
  readonly banned?: true;
}

const KEYS = `
  SELECT k.number, k.id, a.name AS account, k.label, k.prefix, k.last_four AS "lastFour", k.scopes, k.addresses,
         k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
         b.banned_until AS "bannedUntil", k.last_used_at AS "lastUsedAt"
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  LEFT JOIN key_bans b ON b.key_id = k.id::text AND b.banned_until > $2`;

/** Its first number is $6. A key is valid or not at $2. */
const list = (from: '>=' | '<=', order: 'ASC' | 'DESC') => `${KEYS}
  WHERE ($1::bigint IS NULL OR k.account_id = $1) AND k.number ${from} $6
    AND ($3::timestamptz IS NULL OR k.revoked_at IS NULL AND k.expires_at > $2 AND k.expires_at <= $3)
    AND (NOT $4 OR k.revoked_at IS NOT NULL) AND (NOT $5 OR b.banned_until IS NOT NULL)
  ORDER BY k.number ${order} LIMIT $7`;

const FIND = `${KEYS} WHERE k.id = $1`;

/** All accounts, in the order of their creation. */
export const accountPages = pages<AccountEntity>({
  table: 'accounts',
  columns:
    'id, name, plan, per_minute AS "perMinute", per_day AS "perDay", created_at AS "createdAt", disabled_at AS "disabledAt"',
});

export const auditPages = pages<ListedAuditEntry, 'account'>(
  {
    table: 'audit_entries',
    columns:
      'id, at, command, account, key_id AS "keyId", details, os_user AS "osUser", made_by_key AS "madeByKey"',
  },
  { filters: { account: 'account' } },
);

/** The key may be one of a team's authenticator, so its id is any text. */
const LIFT_BAN =
  'DELETE FROM key_bans WHERE key_id IN ($1, lower($1)) RETURNING banned_until > $2 AS "isBanned"';

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
export class AccountsRepository {
  constructor(
    private readonly sql: Sql,
    @InjectEntityManager() private readonly manager: EntityManager,
  ) {}

  /** @throws ApiError if no account has this name */
  async require(name: string, manager = this.manager, options: FindOneOptions = {}) {
    const account = await this.find(name, manager, options);
    if (account) return account;
    throw accountErrors.account_not_found({
      message: `There is no account named ${name}: list the accounts.`,
    });
  }

  /** Reads an account and locks its row until the transaction ends; references to it do not wait. @throws ApiError if no account has this name */
  lockAccount(name: string, manager: EntityManager): Promise<AccountEntity> {
    return this.require(name, manager, { lock: { mode: 'for_no_key_update' } });
  }

  /** Finds an account by its name as an earlier version has kept it, else in NFC. */
  async find(given: string, manager = this.manager, options: FindOneOptions = {}) {
    for (const name of new Set([given, given.normalize()])) {
      const account = await manager.findOne(AccountEntity, { where: { name }, ...options });
      if (account) return account;
    }
    return null;
  }

  async namesOf(ids: readonly bigint[], manager = this.manager): Promise<ReadonlyMap<bigint, string>> {
    const where = { id: In([...new Set(ids)]) };
    const found = ids.length === 0 ? [] : await manager.findBy(AccountEntity, where);
    return new Map(found.map(({ id, name }) => [id, name]));
  }

  /** Returns the prefix of the keys of this database; undefined before the first start of a service. */
  async keyPrefix(manager: EntityManager): Promise<KeyPrefix | undefined> {
    const [row] = await manager.query<{ prefix: KeyPrefix }[]>('SELECT key_prefix AS prefix FROM deployment');
    return row?.prefix;
  }

  /** Locks the table until the transaction ends. @returns true if no account exists */
  async lockIfEmpty(manager: EntityManager): Promise<boolean> {
    await manager.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    return !(await manager.exists(AccountEntity));
  }

  /** Finds the account or creates it with the given plan. Concurrent calls are safe. */
  async findOrCreate(name: string, choice: PlanChoice, manager = this.manager) {
    const known = await this.find(name, manager);
    if (known) return { account: known, isNewAccount: false };
    const values = { name, ...choice };
    const insertion = manager.createQueryBuilder().insert().into(AccountEntity).values(values).orIgnore();
    const { raw }: { raw: unknown[] } = await insertion.execute();
    return { account: await this.require(name, manager), isNewAccount: raw.length > 0 };
  }

  /** @returns the id that the database assigned */
  async insert(key: Partial<ApiKeyEntity>, manager: EntityManager): Promise<string> {
    const { identifiers } = await manager.insert(ApiKeyEntity, key);
    return String(identifiers[0]?.['id']);
  }

  /** Lists a page of keys in the order of their creation, or the other way. */
  async list(
    { direction, first, count }: PageRequest,
    { account, expiring, revoked, banned }: KeyFilter,
    now: Date,
  ): Promise<ListedKey[]> {
    const id = account === undefined ? null : (await this.require(account)).id;
    const values = [id, now, expiring ?? null, revoked ?? false, banned ?? false, first, count];
    const text = direction === 'ascending' ? list('>=', 'ASC') : list('<=', 'DESC');
    return this.sql.rows<ListedKey>({ text, isPlannedAnew: true }, values);
  }

  /** @returns undefined if no key has the id */
  async findKey(id: string, now: Date, transaction?: EntityManager): Promise<ListedKey | undefined> {
    return (await this.sql.rows<ListedKey>(FIND, [id, now], transaction))[0];
  }

  /** @returns true if the key had a ban */
  async liftBan(id: string, now: Date, manager: EntityManager): Promise<boolean> {
    const rows = await this.sql.rows<{ isBanned: boolean }>(LIFT_BAN, [id, now], manager);
    return rows.some(({ isBanned }) => isBanned);
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
    secret: ReturnType<typeof storedFormOf>,
    graceEndsAt: Date,
    manager: EntityManager,
  ): Promise<void> {
    await this.sql.rows(REPLACE_SECRET, [id, secret.secretHash, secret.lastFour, graceEndsAt], manager);
  }
}
