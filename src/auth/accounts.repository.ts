import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { AccountEntity } from './account.entity';
import type { PlanChoice } from './plans';

@Injectable()
export class AccountsRepository {
  constructor(@InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>) {}

  /** All accounts by name. */
  list(): Promise<AccountEntity[]> {
    return this.accounts.find({ order: { name: 'ASC' } });
  }

  /** @returns false where there is no account of that name */
  async setPlan(name: string, choice: PlanChoice): Promise<boolean> {
    const { affected } = await this.accounts.update({ name }, choice);
    return affected === 1;
  }

  /** True where there is no account, and then none can be made elsewhere before the transaction ends. */
  async lockIfEmpty(manager: EntityManager): Promise<boolean> {
    await manager.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    return !(await manager.exists(AccountEntity));
  }

  /** The account of that name, made with the given plan if there was none; safe against the same call elsewhere. */
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
