import { Injectable } from '@nestjs/common';
import type { AccountEntity } from './account.entity';
import { AccountsError } from './accounts.error';
import { AccountsRepository } from './accounts.repository';
import type { PlanChoice } from './plans';

@Injectable()
export class AccountsService {
  constructor(private readonly accounts: AccountsRepository) {}

  /** All accounts by name. */
  list(): Promise<AccountEntity[]> {
    return this.accounts.list();
  }

  /**
   * Moves an account to another plan: in force on every instance within 5 s, as fast as they ask for its keys again.
   * What is used of its windows stays used.
   *
   * @throws AccountsError where there is no such account
   */
  async setPlan(name: string, choice: PlanChoice): Promise<void> {
    const isKnown = await this.accounts.setPlan(name, choice);
    if (!isKnown) throw new AccountsError(`There is no account named ${name}.`);
  }
}
