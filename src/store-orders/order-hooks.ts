import { Injectable } from '@nestjs/common';
import { type ChangeListener, ChangeListeners } from '../database/change-listeners';
import type { OrderStatus } from './order-status';
import type { Order } from './store-orders.dto';

export interface OrderMove {
  readonly order: Order;
  /** The account that placed the order. */
  readonly accountId: bigint;
  /** The status before; undefined if the order was placed. */
  readonly previous: OrderStatus | undefined;
}

/** Listeners of other modules to every order that is placed or changes its status, which run inside its transaction. */
@Injectable()
export class OrderHooks extends ChangeListeners<OrderMove> {
  /** Adds a listener. Call it in `onModuleInit`. */
  onMoved(listener: ChangeListener<OrderMove>): void {
    this.add(listener);
  }
}
