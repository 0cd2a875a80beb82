import { defineErrors } from '../api/errors/api-error';

/** The codes of orders. To a buyer an order of another account is not found, so that none can tell which exist. */
export const orderErrors = defineErrors({
  order_not_found: {
    status: 404,
    when: 'your account has no order with this id',
    message: 'Your account has no order with this id.',
  },
  too_many_open_orders: {
    status: 409,
    when: 'your account has as many open orders as it may have',
    message:
      'Your account has as many open orders as it may have: cancel some, or wait until they are delivered or expire.',
  },
  invalid_transition: { status: 409, when: 'the order cannot change from its current status to this status' },
});
