import { ApiError } from '../errors/api-error';
import type { OrderStatus } from './order-status';

/** Also where the order is another account's: nobody learns of it. */
export function orderNotFound(): ApiError {
  return new ApiError('order_not_found');
}

export function invalidTransition(from: OrderStatus, to: OrderStatus): ApiError {
  return new ApiError('invalid_transition', { message: `An order that is ${from} cannot become ${to}.` });
}
