import { Injectable } from '@nestjs/common';
import { InjectEntityManager } from '@nestjs/typeorm';
import { EntityManager, type FindOneOptions, In } from 'typeorm';
import { pages } from '../../api/lists/lists';
import { AccountEntity } from './account.entity';
import { accountErrors } from './accounts.errors';
import type { AuditEntry } from './audit.dto';
import type { PlanChoice } from './plans';

/** The query of the account name of a row; null while the account is disabled. */
export const nameOfEnabled = (row: string) =>
  `SELECT name FROM accounts WHERE id = ${row}.account_id AND disabled_at IS NULL`;

/** All accounts, in the order of their creation. */
export const accountPages = pages<AccountEntity>({
  table: 'accounts',
  columns:
    'id, name, plan, per_minute AS "perMinute", per_day AS "perDay", created_at AS "createdAt", disabled_at AS "disabledAt"',
});

export const auditPages = pages<AuditEntry>(
  {
    table: 'audit_entries',
    columns:
      'id, at, command, account, key_id AS "keyId", details, os_user AS "osUser", made_by_key AS "madeByKey"',
  },
  { filters: { account: 'account' } },
);

@Injectable()
export class AccountsRepository {
  constructor(@InjectEntityManager() private readonly manager: EntityManager) {}

  /** @throws ApiError if no account has this name */
  async require(name: string, manager = this.manager, options: FindOneOptions = {}) {
    const account = await this.find(name, manager, options);
    if (account) return account;
    throw accountErrors.account_not_found();
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
}
