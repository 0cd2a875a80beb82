import { ApiError } from '../errors/api-error';
import type { OrderStatus } from './order-status';

/** Also where the order is another account's: nobody learns of it. */
export function orderNotFound(): ApiError {
  return new ApiError(404, 'order_not_found', 'Your account has no order with this id.');
}

export function invalidTransition(from: OrderStatus, to: OrderStatus): ApiError {
  return new ApiError(409, 'invalid_transition', `An order that is ${from} cannot become ${to}.`);
}
