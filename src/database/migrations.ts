import { AccountsAndApiKeys1795219200000 } from './migrations/0001-accounts-and-api-keys';
import { Pets1795219200001 } from './migrations/0002-pets';

/** Every migration, in the order in which they run. */
export const migrations = [AccountsAndApiKeys1795219200000, Pets1795219200001] as const;
