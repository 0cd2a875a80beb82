import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository } from 'typeorm';
import { Sql, type Statement } from '../platform/database/sql';
import { pages } from '../platform/database/pages';
import { OPEN_STATUSES, type OrderStatus } from './order-status';
import { StoreOrderEntity } from './store-order.entity';
import type { Order } from './store-orders.dto';

/** An order with the account that placed it. */
export interface StoredOrder extends Order {
  readonly accountId: bigint;
}

const COLUMNS = 'id, account_id, pet_id, status, placed_at, updated_at';

type Columns = [bigint, bigint, bigint, OrderStatus, Date, Date];

const read = ([id, accountId, petId, status, placedAt, updatedAt]: Columns): StoredOrder =>
  storedOrderOf({ id, accountId, petId, status, placedAt, updatedAt });

function storedOrderOf({ placedAt, updatedAt, ...order }: StoreOrderEntity): StoredOrder {
  return { ...order, placedAt: placedAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

/** The list of orders. */
export const orderPages = pages(
  { table: 'store_orders', columns: COLUMNS, read },
  { filters: { accountId: 'account_id', status: 'status' } },
);

/** Inserts nothing if the animal has an open order. The unique index decides, not the status of the animal. */
const INSERT: Statement = {
  read,
  text: `
    INSERT INTO store_orders (account_id, pet_id, status, placed_at, updated_at) VALUES ($1, $2, 'placed', $3, $3)
    ON CONFLICT (pet_id) WHERE status IN ('placed', 'approved') DO NOTHING
    RETURNING ${COLUMNS}`,
};

/** An order id and the account that may access it; without one, an order of any account. */
export interface OrderKey {
  readonly id: bigint;
  readonly accountId?: bigint;
}

/** The orders in the database: prepared statements where speed counts, and TypeORM's repository elsewhere. */
@Injectable()
export class StoreOrdersRepository {
  constructor(
    private readonly sql: Sql,
    @InjectRepository(StoreOrderEntity) private readonly entities: Repository<StoreOrderEntity>,
  ) {}

  /** @param transaction locks the row until it ends */
  async find(key: OrderKey, transaction?: EntityManager): Promise<StoredOrder | undefined> {
    const lock = transaction ? { lock: { mode: 'pessimistic_write' } as const } : {};
    const found = await this.within(transaction).findOne({ where: key, ...lock });
    return found ? storedOrderOf(found) : undefined;
  }

  /** @returns undefined if any account has an open order of the animal */
  async insert(
    accountId: bigint,
    petId: bigint,
    placedAt: Date,
    transaction: EntityManager,
  ): Promise<StoredOrder | undefined> {
    const [order] = await this.sql.rows<StoredOrder>(INSERT, [accountId, petId, placedAt], transaction);
    return order;
  }

  /** Changes the status of an order that the transaction has locked. */
  async updateStatus({ id, status, updatedAt }: StoredOrder, transaction: EntityManager): Promise<void> {
    await this.within(transaction).update({ id }, { status, updatedAt: new Date(updatedAt) });
  }

  /** True if an order of the animal is neither delivered nor cancelled. */
  hasOpenOrder(petId: bigint, transaction: EntityManager): Promise<boolean> {
    return this.within(transaction).existsBy({ petId, status: In(OPEN_STATUSES) });
  }

  private within(transaction: EntityManager | undefined): Repository<StoreOrderEntity> {
    return transaction ? transaction.withRepository(this.entities) : this.entities;
  }
}
