import { banContract } from './ban.contract';
import type { Contract } from './contract';
import { fleetContract } from './fleet.contract';
import type { CreateStore } from './store-under-test';
import { windowContract } from './window.contract';
import { windowLengthContract } from './window-length.contract';

/** How much work the contract does. */
export interface RateLimitStoreContractOptions {
  /** Sequences of charges that are compared with a model. Default 300. */
  readonly sequences?: number;
  /** Time of the clock that each fleet of workers runs, at least 300. Default 3,600. */
  readonly fleetSeconds?: number;
}

/**
 * Lists the promises of a `RateLimitStore`: windows, strikes and bans.
 *
 * @param create creates an empty store for each check
 */
export function rateLimitStoreContract(
  create: CreateStore,
  { sequences = 300, fleetSeconds = 3_600 }: RateLimitStoreContractOptions = {},
): Contract {
  return [
    ...windowContract(create, sequences),
    ...windowLengthContract(create),
    ...banContract(create),
    ...fleetContract(create, fleetSeconds),
  ];
}
