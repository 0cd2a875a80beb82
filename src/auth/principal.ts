import type { Limits } from './plans';

/** Whose request it is: the account that answers for it and the key that was shown. */
export interface Principal {
  readonly accountId: bigint;
  readonly accountName: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly limits: Limits;
}
