import { ApiError } from '../platform/errors/api-error';
import type { OrderStatus } from './order-status';

/** The order does not exist or belongs to another account; a client cannot tell which. */
export function orderNotFound(): ApiError {
  return new ApiError('order_not_found');
}

export function invalidTransition(from: OrderStatus, to: OrderStatus): ApiError {
  return new ApiError('invalid_transition', { message: `An order that is ${from} cannot become ${to}.` });
}
