import { Injectable } from '@nestjs/common';
import type { AccountEntity } from './account.entity';
import { AccountsRepository } from './accounts.repository';
import type { PlanChoice } from './plans';
import { UserError } from '../platform/errors/user-error';

@Injectable()
export class AccountsService {
  constructor(private readonly accounts: AccountsRepository) {}

  /** Lists all accounts by name. */
  list(): Promise<AccountEntity[]> {
    return this.accounts.list();
  }

  /**
   * Moves an account to another plan. Each instance applies it within 5 s, when it reads the account's keys again.
   * Requests that are already counted stay counted.
   *
   * @throws UserError if no account has this name
   */
  async setPlan(name: string, choice: PlanChoice): Promise<void> {
    const isKnown = await this.accounts.setPlan(name, choice);
    if (!isKnown) throw new UserError(`There is no account named ${name}.`);
  }
}
