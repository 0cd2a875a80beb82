import type { Limits, Plan } from './plans';

/** Whose request it is: the account that answers for it and the key that was shown. */
export interface Principal {
  readonly accountId: bigint;
  readonly accountName: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly plan: Plan;
  readonly limits: Limits;
  /** A ban of the key that began before this time was lifted by hand; milliseconds, 0 for never. */
  readonly unbannedAt: number;
}
