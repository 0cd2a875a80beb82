import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, type EntityManager, In, Repository } from 'typeorm';
import { AccountEntity } from './account.entity';
import { ACCOUNT_NAME_RULE, isAccountName } from './short-text';
import { FREE, limitsOf, type PlanChoice } from './plans';
import { recordAudit } from '../platform/database/audit';
import { UserError } from '../platform/errors/user-error';

/** An administrative change as `audit list` shows it. */
export interface ListedAuditEntry {
  readonly at: Date;
  readonly command: string;
  readonly account: string | null;
  readonly keyId: string | null;
  readonly details: string;
  readonly osUser: string;
}

const LIST_AUDIT =
  'SELECT at, command, account, key_id AS "keyId", details, os_user AS "osUser" FROM audit_entries ORDER BY id';

@Injectable()
export class AccountsService {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
  ) {}

  /** Lists all accounts by name. */
  list(): Promise<AccountEntity[]> {
    return this.accounts.find({ order: { name: 'ASC' } });
  }

  /** @returns null if no account has this name */
  find(name: string): Promise<AccountEntity | null> {
    return this.accounts.findOneBy({ name });
  }

  /** Lists all administrative changes, the oldest first. */
  listAudit(): Promise<ListedAuditEntry[]> {
    return this.source.query(LIST_AUDIT);
  }

  /** Returns the names of accounts by id. */
  async namesOf(ids: readonly bigint[]): Promise<ReadonlyMap<bigint, string>> {
    const found = ids.length === 0 ? [] : await this.accounts.findBy({ id: In([...new Set(ids)]) });
    return new Map(found.map(({ id, name }) => [id, name]));
  }

  /**
   * Finds an account, or creates it with this plan. Concurrent calls create one account.
   *
   * @throws UserError if the name is not a short text
   */
  async findOrCreate(
    name: string,
    choice: PlanChoice = FREE,
    manager: EntityManager = this.accounts.manager,
  ): Promise<AccountEntity> {
    if (!isAccountName(name)) throw new UserError(`The name of an account must be ${ACCOUNT_NAME_RULE}.`);
    const account = { name, ...choice };
    await manager.createQueryBuilder().insert().into(AccountEntity).values(account).orIgnore().execute();
    return manager.findOneByOrFail(AccountEntity, { name });
  }

  /** Locks the table until the transaction ends. @returns true if no account exists */
  async lockIfEmpty(manager: EntityManager): Promise<boolean> {
    await manager.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    return !(await manager.exists(AccountEntity));
  }

  /**
   * Moves an account to another plan. Each instance applies it within 5 s, when it reads the account's keys again.
   * Requests that are already counted stay counted.
   *
   * @throws UserError if no account has this name
   */
  async setPlan(name: string, choice: PlanChoice): Promise<void> {
    await this.source.transaction(async (manager) => {
      const { affected } = await manager.update(AccountEntity, { name }, choice);
      if (affected !== 1) throw new UserError(`There is no account named ${name}.`);
      const { perMinute, perDay } = limitsOf(choice);
      const details = `plan ${choice.plan}, ${perMinute} a minute, ${perDay} a day`;
      await recordAudit(manager, { command: 'accounts set-plan', account: name, details });
    });
  }
}
