import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/config';
import { isUnusable } from '../database/database-errors';
import { Sql } from '../database/sql';
import { Clock } from '../time/clock';
import { PeriodicWork } from '../time/periodic-work';
import { SECOND_MS } from '../time/time';
import { MAX_AT_ONCE, StoreOrdersRepository } from './store-orders.repository';
import { expiryOf, type OrderConfig, StoreOrdersService } from './store-orders.service';

/** Cancels the orders that are still placed when their time has passed. */
@Injectable()
export class OrderExpiry extends PeriodicWork {
  constructor(
    private readonly sql: Sql,
    private readonly orders: StoreOrdersRepository,
    private readonly service: StoreOrdersService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: OrderConfig,
  ) {
    super('The cancellation of expired orders', 15 * SECOND_MS);
  }

  /**
   * Several instances may do so concurrently: each skips the orders that another one has locked.
   *
   * @throws Error if an order cannot be cancelled, after all others
   */
  async run(): Promise<void> {
    const now = new Date(this.clock.now());
    const expiresAt = expiryOf(this.config, now);
    // After a change of the setting to 0 or from 0, and for the orders of earlier versions.
    while ((await this.orders.setExpiry(expiresAt, now)) === MAX_AT_ONCE && !this.isStopping);
    if (!expiresAt) return;
    const failed = new Map<bigint, unknown>();
    while ((await this.cancelBatch(now, failed)) > 0 && !this.isStopping);
    for (const [id, cause] of failed)
      throw new Error(`of ${failed.size} orders the first is ${id}: ${String(cause)}`, { cause });
  }

  /** @returns the number of orders of which the time has passed, those that failed included */
  private cancelBatch(now: Date, failed: Map<bigint, unknown>): Promise<number> {
    return this.sql.transaction(async (transaction) => {
      const expired = await this.orders.lockExpired(now, [...failed.keys()], transaction);
      for (const order of expired) {
        try {
          // A savepoint: a listener that throws reverts its own order only.
          await transaction.transaction((inner) => this.service.move(order, 'cancelled', inner));
        } catch (error) {
          if (isUnusable(error)) throw error;
          failed.set(order.id, error);
        }
      }
      return expired.length;
    });
  }
}
