import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AccountEntity } from './account.entity';
import { accountPages, AccountsRepository, auditPages, type ListedAuditEntry } from './accounts.repository';
import { ACCOUNT_NAME_RULE, isAccountName } from './short-text';
import { FREE, limitsOf, type PlanChoice } from './plans';
import { recordAudit } from '../../database/audit';
import { Sql } from '../../database/sql';
import { UserError } from '../../config/user-error';
import { accountErrors } from './accounts.errors';
import type { Page, PageQuery } from '../../api/lists/page';
import { Clock } from '../../time/clock';

/** The key that makes a change over HTTP, and the transaction that the change joins. A command has neither. */
export interface Maker {
  readonly key: string;
  readonly transaction: EntityManager;
}

/** The id of no account, because identities begin at 1. */
const NO_ACCOUNT = 0n;

@Injectable()
export class AccountsService {
  /** @internal */
  constructor(
    private readonly sql: Sql,
    private readonly repository: AccountsRepository,
    private readonly clock: Clock,
  ) {}

  /** Lists a page of all accounts in the order of their creation. @throws ApiError `invalid_cursor` */
  list(query: PageQuery): Promise<Page<AccountEntity>> {
    return accountPages.list(this.sql, query);
  }

  /** @returns null if no account has this name */
  find(name: string): Promise<AccountEntity | null> {
    return this.repository.find(name);
  }

  /** @param transaction locks the row until it ends @throws ApiError if no account has this name */
  require(name: string, transaction?: EntityManager): Promise<AccountEntity> {
    return transaction ? this.repository.lockAccount(name, transaction) : this.repository.require(name);
  }

  /** Lists a page of administrative changes. @throws ApiError `invalid_cursor` */
  listAudit(query: PageQuery): Promise<Page<ListedAuditEntry>> {
    return auditPages.list(this.sql, query);
  }

  /** Returns the account that `?account=` names, by default the own one; undefined for `*`, all accounts. @internal */
  async idOfListed(own: bigint, name: string | undefined): Promise<bigint | undefined> {
    if (name === undefined) return own;
    return name === '*' ? undefined : ((await this.find(name))?.id ?? NO_ACCOUNT);
  }

  namesOf(ids: readonly bigint[], transaction?: EntityManager): Promise<ReadonlyMap<bigint, string>> {
    return this.repository.namesOf(ids, transaction);
  }

  /**
   * Finds an account, or creates it with this plan. Concurrent calls create one account.
   *
   * @throws UserError if the name is not a short text
   */
  async findOrCreate(name: string, choice: PlanChoice = FREE): Promise<AccountEntity> {
    if (!isAccountName(name)) throw new UserError(`The name of an account must be ${ACCOUNT_NAME_RULE}.`);
    return (await this.repository.findOrCreate(name, choice)).account;
  }

  /** Creates an account without a key. @throws ApiError if it exists */
  create(name: string, choice: PlanChoice, by?: Maker): Promise<AccountEntity> {
    return this.sql.transaction(async (transaction) => {
      const { account, isNewAccount } = await this.repository.findOrCreate(name, choice, transaction);
      if (!isNewAccount) throw accountErrors.account_exists();
      const entry = { command: 'accounts create', account: name, details: detailsOf(choice) };
      await recordAudit(transaction, { ...entry, madeByKey: by?.key });
      return account;
    }, by?.transaction);
  }

  /**
   * Moves an account to another plan. Each instance applies it within 5 s, when it reads the account's keys again.
   * Requests that are already counted stay counted.
   *
   * @throws ApiError if no account has this name
   */
  async setPlan(name: string, choice: PlanChoice, by?: Maker): Promise<void> {
    await this.change('accounts set-plan', name, detailsOf(choice), () => choice, by);
  }

  /** Makes the keys of an account invalid, or valid again, within 5 s. @returns false if they are already */
  setDisabled(name: string, isDisabled: boolean, by?: Maker): Promise<boolean> {
    const command = isDisabled ? 'accounts disable' : 'accounts enable';
    const valuesOf = ({ disabledAt }: AccountEntity) =>
      (disabledAt !== null) !== isDisabled && { disabledAt: isDisabled ? new Date(this.clock.now()) : null };
    return this.change(command, name, '', valuesOf, by);
  }

  /** Changes an account and records it in one transaction. @param valuesOf returns false if there is nothing to change */
  private change(
    command: string,
    name: string,
    details: string,
    valuesOf: (account: AccountEntity) => Partial<AccountEntity> | false,
    by: Maker | undefined,
  ): Promise<boolean> {
    return this.sql.transaction(async (manager) => {
      const account = await this.repository.lockAccount(name, manager);
      const values = valuesOf(account);
      if (values === false) return false;
      await manager.update(AccountEntity, { id: account.id }, values);
      await recordAudit(manager, { command, account: account.name, details, madeByKey: by?.key });
      return true;
    }, by?.transaction);
  }
}

function detailsOf(choice: PlanChoice): string {
  const { perMinute, perDay } = limitsOf(choice);
  return `plan ${choice.plan}, ${perMinute} a minute, ${perDay} a day`;
}
