import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import type { EntityManager, MigrationInterface, QueryRunner } from 'typeorm';
import {
  defineErrors,
  type Extension,
  OrderEvents,
  PetEvents,
  PetsModule,
  Sql,
  type Statement,
  StoreOrdersModule,
} from '../../../src';

const errors = defineErrors({
  order_vetoed: {
    status: 409,
    when: 'a listener rejects the order',
    message: 'A listener rejects the order.',
  },
});

const FAIL: Statement = { text: 'SELECT 1 / 0' };
/** Violates a foreign key. */
const REFER: Statement = { text: 'INSERT INTO journal_notes (journal_id) VALUES (0)' };
const INSERT: Statement = { text: 'INSERT INTO journal (entry) VALUES ($1)' };

/** Writes one entry for each change, rejects cancelled orders and animals named Veto, and ignores errors for others. */
@Injectable()
class Journal implements OnModuleInit {
  constructor(
    private readonly orders: OrderEvents,
    private readonly pets: PetEvents,
    private readonly sql: Sql,
  ) {}

  onModuleInit(): void {
    this.orders.onMoved(({ order, accountId, previous }, transaction) =>
      this.write(`order of ${order.petId} by ${accountId}: ${previous} to ${order.status}`, transaction),
    );
    this.orders.onMoved(({ order }) => {
      if (order.status === 'cancelled') throw errors.order_vetoed();
    });
    this.pets.onChanged(({ pet, previous }, transaction) =>
      this.write(`${pet.name}: ${previous?.status} to ${pet.status}`, transaction),
    );
    this.pets.onRemoved(async ({ name }, transaction) => {
      await this.write(`${name}: removed`, transaction);
      if (name === 'Veto') throw errors.order_vetoed();
      if (name === 'Broken') await this.sql.rows(REFER, [], transaction);
    });
    this.pets.onChanged(({ pet }) => {
      if (pet.name === 'Veto') throw errors.order_vetoed();
    });
    this.pets.onChanged(async ({ pet: { name } }, transaction) => {
      if (name !== 'Ignored' && name !== 'Unawaited') return;
      const failed = this.sql.rows(FAIL, [], transaction).catch(() => undefined);
      if (name === 'Ignored') await failed;
    });
  }

  private async write(entry: string, transaction: EntityManager): Promise<void> {
    await this.sql.rows(INSERT, [entry], transaction);
  }
}

@Module({ imports: [PetsModule, StoreOrdersModule], providers: [Journal] })
class JournalModule {}

export class Journal1795300000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE TABLE journal (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entry text)',
    );
    await runner.query('CREATE TABLE journal_notes (journal_id bigint REFERENCES journal (id))');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE journal_notes, journal');
  }
}

/** Listeners to animals and orders as a team writes them. */
export const journal: Extension = {
  name: 'journal',
  modules: [JournalModule],
  migrations: [Journal1795300000001],
  errors: [errors.order_vetoed],
};
