import { AccountsAndApiKeys1795219200000 } from './migrations/0001-accounts-and-api-keys';
import { Pets1795219200001 } from './migrations/0002-pets';
import { RateLimit1795219200002 } from './migrations/0003-rate-limit';
import { StoreOrders1795219200003 } from './migrations/0004-store-orders';
import { OrdersOnce1795219200004 } from './migrations/0005-orders-once';
import { RotatedSecrets1795219200005 } from './migrations/0006-rotated-secrets';

/** Every migration, in the order in which they run. */
export const migrations = [
  AccountsAndApiKeys1795219200000,
  Pets1795219200001,
  RateLimit1795219200002,
  StoreOrders1795219200003,
  OrdersOnce1795219200004,
  RotatedSecrets1795219200005,
] as const;
