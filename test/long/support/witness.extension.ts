import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { type Extension, OrderEvents, PetEvents, PetsModule, StoreOrdersModule } from '../../../src';

const MIRROR = `INSERT INTO pets (name, category_id, status) VALUES ($1, 0, 'sold')`;
const COUNT = `UPDATE pets SET category_id = category_id + 1 WHERE name = $1`;
const REMOVE = `DELETE FROM pets WHERE name = $1`;

/** The name of an animal that only this extension changes. */
export const mirrorOf = (id: bigint) => `mirror of ${id}`;

/** Adds, changes and removes an animal of its own in the transaction of each change of another one. */
@Injectable()
class Mirrors implements OnModuleInit {
  constructor(
    private readonly pets: PetEvents,
    private readonly orders: OrderEvents,
  ) {}

  onModuleInit(): void {
    this.pets.onChanged(async ({ pet: { id }, previous }, transaction) => {
      await transaction.query(previous ? COUNT : MIRROR, [mirrorOf(id)]);
    });
    this.pets.onRemoved(async ({ id }, transaction) => {
      await transaction.query(REMOVE, [mirrorOf(id)]);
    });
    this.orders.onMoved(async ({ order: { petId } }, transaction) => {
      await transaction.query(COUNT, [mirrorOf(petId)]);
    });
  }
}

@Module({ imports: [PetsModule, StoreOrdersModule], providers: [Mirrors] })
class MirrorsModule {}

const record = (table: string, operation: string, condition: string, type: string, row = 'NEW') => `
  CREATE FUNCTION witness_${table}_${operation}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO witness (type, row_id) VALUES (${type}, ${row}.id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER witness_${operation} AFTER ${operation} ON ${table}
    FOR EACH ROW ${condition} EXECUTE FUNCTION witness_${table}_${operation}();`;

/** Records each changed row, with a trigger for each row. */
class Witness1795300000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE witness (position bigint GENERATED ALWAYS AS IDENTITY, type text, row_id bigint);
      ${record('pets', 'insert', '', `'pet.created'`)}
      ${record('pets', 'update', 'WHEN (OLD.* IS DISTINCT FROM NEW.*)', `'pet.updated'`)}
      ${record('pets', 'delete', '', `'pet.deleted'`, 'OLD')}
      ${record('store_orders', 'insert', '', `'order.' || NEW.status`)}
      ${record('store_orders', 'update', 'WHEN (OLD.status <> NEW.status)', `'order.' || NEW.status`)}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE witness');
  }
}

/** A team's extension that changes animals by its own statements, and a record of every change. */
export const witness: Extension = {
  name: 'witness',
  modules: [MirrorsModule],
  migrations: [Witness1795300000009],
};
