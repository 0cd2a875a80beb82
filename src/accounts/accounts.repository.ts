import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository } from 'typeorm';
import { AccountEntity } from './account.entity';
import type { PlanChoice } from './plans';

@Injectable()
export class AccountsRepository {
  constructor(@InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>) {}

  /** Lists all accounts by name. */
  list(): Promise<AccountEntity[]> {
    return this.accounts.find({ order: { name: 'ASC' } });
  }

  find(name: string): Promise<AccountEntity | null> {
    return this.accounts.findOneBy({ name });
  }

  findAll(ids: readonly bigint[]): Promise<AccountEntity[]> {
    return ids.length === 0 ? Promise.resolve([]) : this.accounts.findBy({ id: In(ids) });
  }

  /** @returns false if no account has this name */
  async setPlan(name: string, choice: PlanChoice, manager: EntityManager): Promise<boolean> {
    const { affected } = await manager.update(AccountEntity, { name }, choice);
    return affected === 1;
  }

  /** Locks the table until the transaction ends. @returns true if no account exists */
  async lockIfEmpty(manager: EntityManager): Promise<boolean> {
    await manager.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    return !(await manager.exists(AccountEntity));
  }

  /** Finds the account or creates it with the given plan. Concurrent calls are safe. */
  async findOrCreate(name: string, choice: PlanChoice, manager: EntityManager): Promise<AccountEntity> {
    await manager
      .createQueryBuilder()
      .insert()
      .into(AccountEntity)
      .values({ name, ...choice })
      .orIgnore()
      .execute();
    return manager.findOneByOrFail(AccountEntity, { name });
  }
}
