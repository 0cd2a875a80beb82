import type { EventTypes } from '../platform/extension/extension';
import type { OrderStatus } from './order-status';
import { Order } from './store-orders.dto';
import { orderScopes } from './store-orders.scopes';

const scope = [orderScopes.read, orderScopes.manage] as const;
const facts = { data: Order, scope, staffScope: orderScopes.manage };

/** The events that the triggers of the table write. */
export const orderEvents = {
  'order.placed': facts,
  'order.approved': facts,
  'order.delivered': facts,
  'order.cancelled': facts,
} satisfies EventTypes & Record<`order.${OrderStatus}`, object>;
