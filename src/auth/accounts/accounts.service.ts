import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isInForce, type Precondition } from '../../api/entity-tags/entity-tag';
import { validationFailed } from '../../api/errors/common.errors';
import { AccountEntity } from './account.entity';
import type { AccountChange, NewAccount } from './accounts.dto';
import { accountPages, AccountsRepository, auditPages } from './accounts.repository';
import type { AuditEntry } from './audit.dto';
import { ACCOUNT_NAME_RULE, isAccountName } from './short-text';
import { FREE, isPlanChoice, limitsOf, type PlanChoice } from './plans';
import { recordAudit } from '../../database/audit';
import { Sql } from '../../database/sql';
import { UserError } from '../../config/user-error';
import { accountErrors } from './accounts.errors';
import type { Page, PageQuery } from '../../api/lists/page';
import { Clock } from '../../time/clock';

/** A change over HTTP has the key that makes it, and joins the transaction of its Idempotency-Key. A command has neither. */
export interface ChangeContext {
  readonly madeByKey?: string;
  readonly transaction?: EntityManager | undefined;
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

  /** @throws ApiError if no account has this name */
  require(name: string): Promise<AccountEntity> {
    return this.repository.require(name);
  }

  /** Lists a page of administrative changes. @throws ApiError `invalid_cursor` */
  listAudit(query: PageQuery): Promise<Page<AuditEntry>> {
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

  /** Creates an account without a key. @throws ApiError if it exists, or the limits do not fit the plan */
  create(
    { name, plan = 'free', ...limits }: NewAccount,
    { madeByKey, transaction }: ChangeContext,
  ): Promise<AccountEntity> {
    const choice = choiceOf({ plan, ...limits }, FREE);
    return this.sql.transaction(async (manager) => {
      const { account, isNewAccount } = await this.repository.findOrCreate(name, choice, manager);
      if (!isNewAccount) throw accountErrors.account_exists();
      const entry = { command: 'accounts create', account: name, details: detailsOf(choice), madeByKey };
      await recordAudit(manager, entry);
      return account;
    }, transaction);
  }

  /**
   * Moves an account to another plan, or makes its keys invalid or valid again. Each instance applies it within 5 s, when it
   * reads the account's keys again. Requests that are already counted stay counted.
   *
   * @param precondition is checked unless the account has all values already
   * @throws ApiError if no account has this name, or the limits do not fit the plan
   */
  update(
    name: string,
    { disabled, ...given }: AccountChange,
    { madeByKey, transaction }: ChangeContext = {},
    precondition?: Precondition<AccountEntity>,
  ): Promise<AccountEntity> {
    return this.sql.transaction(async (manager) => {
      // References to the locked row do not wait.
      const lock = { mode: 'for_no_key_update' } as const;
      const account = await this.repository.require(name, manager, { lock });
      const isPlanKept = isInForce(given, account);
      const isDisabled = account.disabledAt !== null;
      const isKept = disabled === undefined || disabled === isDisabled;
      if (isPlanKept && isKept) return account;
      precondition?.(account);
      const choice = choiceOf(given, account);
      const disabledAt = isKept ? account.disabledAt : isDisabled ? null : new Date(this.clock.now());
      await manager.update(AccountEntity, { id: account.id }, { ...choice, disabledAt });
      const common = { account: account.name, madeByKey };
      if (!isPlanKept)
        await recordAudit(manager, { command: 'accounts set-plan', details: detailsOf(choice), ...common });
      if (!isKept)
        await recordAudit(manager, { command: `accounts ${isDisabled ? 'enable' : 'disable'}`, ...common });
      return this.repository.require(name, manager);
    }, transaction);
  }
}

/**
 * Completes a plan: limits that are left out keep their value if the plan does.
 *
 * @throws ApiError `validation_failed` for limits that do not fit the given plan, `plan_conflict` if it is the account's
 */
function choiceOf(given: Partial<PlanChoice>, { plan: old, ...limits }: PlanChoice): PlanChoice {
  const { plan = old } = given;
  const kept = plan === old ? limits : FREE;
  const { perMinute = kept.perMinute, perDay = kept.perDay } = given;
  const choice = { plan, perMinute, perDay };
  if (isPlanChoice(choice)) return choice;
  if (given.plan === undefined) throw accountErrors.plan_conflict();
  const isEnterprise = plan === 'enterprise';
  const wrong = (['perMinute', 'perDay'] as const).filter((name) => (choice[name] === null) === isEnterprise);
  const rule = `must be ${isEnterprise ? 'given' : 'left out'} with the plan ${plan}`;
  throw validationFailed(wrong.map((name) => `${name} ${rule}`));
}

function detailsOf(choice: PlanChoice): string {
  const { perMinute, perDay } = limitsOf(choice);
  return `plan ${choice.plan}, ${perMinute} a minute, ${perDay} a day`;
}
