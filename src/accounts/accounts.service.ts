import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, In, Repository } from 'typeorm';
import { AccountEntity } from './account.entity';
import { AccountsRepository, type AuditFilter, type ListedAuditEntry } from './accounts.repository';
import { ACCOUNT_NAME_RULE, isAccountName } from './short-text';
import { FREE, limitsOf, type PlanChoice } from './plans';
import { recordAudit } from '../platform/database/audit';
import { UserError } from '../platform/errors/user-error';

@Injectable()
export class AccountsService {
  /** @internal */
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
    private readonly repository: AccountsRepository,
  ) {}

  /** Lists all accounts by name. */
  list(): Promise<AccountEntity[]> {
    return this.accounts.find({ order: { name: 'ASC' } });
  }

  /** @returns null if no account has this name */
  find(name: string): Promise<AccountEntity | null> {
    return this.accounts.findOneBy({ name });
  }

  /** @throws UserError if no account has this name */
  require(name: string): Promise<AccountEntity> {
    return this.repository.require(name);
  }

  /** Lists administrative changes, the oldest first. @throws UserError if the account does not exist */
  async listAudit(filter: AuditFilter = {}): Promise<ListedAuditEntry[]> {
    if (filter.account !== undefined) await this.repository.require(filter.account);
    return await this.repository.listAudit(filter);
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
  async findOrCreate(name: string, choice: PlanChoice = FREE): Promise<AccountEntity> {
    if (!isAccountName(name)) throw new UserError(`The name of an account must be ${ACCOUNT_NAME_RULE}.`);
    return (await this.repository.findOrCreate(name, choice, this.accounts.manager)).account;
  }

  /**
   * Moves an account to another plan. Each instance applies it within 5 s, when it reads the account's keys again.
   * Requests that are already counted stay counted.
   *
   * @throws UserError if no account has this name
   */
  async setPlan(name: string, choice: PlanChoice): Promise<void> {
    const { perMinute, perDay } = limitsOf(choice);
    const details = `plan ${choice.plan}, ${perMinute} a minute, ${perDay} a day`;
    await this.change('accounts set-plan', name, details, () => choice);
  }

  /** Makes the keys of an account invalid, or valid again, within 5 s. @returns false if they are already */
  setDisabled(name: string, isDisabled: boolean): Promise<boolean> {
    const command = isDisabled ? 'accounts disable' : 'accounts enable';
    return this.change(
      command,
      name,
      '',
      ({ disabledAt }) =>
        (disabledAt !== null) !== isDisabled && { disabledAt: isDisabled ? new Date() : null },
    );
  }

  /** Changes an account and records it in one transaction. @param valuesOf returns false if there is nothing to change */
  private change(
    command: string,
    name: string,
    details: string,
    valuesOf: (account: AccountEntity) => Partial<AccountEntity> | false,
  ): Promise<boolean> {
    return this.source.transaction(async (manager) => {
      const values = valuesOf(await this.repository.lockAccount(name, manager));
      if (values === false) return false;
      await manager.update(AccountEntity, { name }, values);
      await recordAudit(manager, { command, account: name, details });
      return true;
    });
  }
}
