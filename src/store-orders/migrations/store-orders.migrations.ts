import { MergedMigration, SqlMigration } from '../../database/migrations/sql-migration';

/** The orders of version 1.1. */
export class StoreOrders1795219200003 extends SqlMigration {
  override readonly upSql = `
    CREATE TABLE store_orders (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      account_id bigint NOT NULL REFERENCES accounts (id),
      -- No reference: an order stays when its animal is removed. PetsService locks the animal, so no order of a removed
      -- one is placed.
      pet_id bigint NOT NULL,
      status text NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'cancelled')),
      placed_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL DEFAULT now()
    );
    -- An animal has at most one order that is neither delivered nor cancelled.
    CREATE UNIQUE INDEX store_orders_open_pet_id ON store_orders (pet_id) WHERE status IN ('placed', 'approved');
    -- For a page of an account's orders: without a filter, and of one status.
    CREATE INDEX store_orders_account_id_id ON store_orders (account_id, id);
    -- NULLS FIRST: an order that the index on (account_id, id) does not give (lists.ts).
    CREATE INDEX store_orders_account_id_status_id ON store_orders (account_id NULLS FIRST, status, id);
    -- For a page of the orders of all accounts with one status.
    CREATE INDEX store_orders_status_id ON store_orders (status, id)`;
  override readonly downSql = 'DROP TABLE store_orders';
}

// The first one contains these.
export class OrdersOnce1795219200004 extends MergedMigration {}
export class ManagedOrders1795219200009 extends MergedMigration {}
export class OrdersOrder1795219200011 extends MergedMigration {}

export class ForgottenOrders1795219200020 extends SqlMigration {
  // Null for open orders, too: OrderExpiry gives them the whole time, from its first run on.
  override readonly upSql = `
    ALTER TABLE store_orders ADD COLUMN expires_at timestamptz;
    CREATE INDEX store_orders_expires_at ON store_orders (expires_at) WHERE status = 'placed';
    CREATE INDEX store_orders_pet_id_id ON store_orders (pet_id, id);
    -- The index on (account_id, status, id) has the orders of every status, too.
    DROP INDEX store_orders_account_id_id`;
  override readonly downSql = `
    CREATE INDEX store_orders_account_id_id ON store_orders (account_id, id);
    DROP INDEX store_orders_pet_id_id;
    ALTER TABLE store_orders DROP COLUMN expires_at`;
}
