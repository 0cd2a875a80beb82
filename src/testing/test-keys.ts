import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiKeysService, type Plan, type PlanChoice } from '../accounts';

/** A key to create. */
export interface TestKeyOptions {
  /** Default: every scope of the store. */
  readonly scopes?: readonly string[];
  /** The name of its account. Default: a new account. */
  readonly account?: string;
  /** Default: that of the account, else `enterprise` with limits that no test reaches. */
  readonly plan?: Exclude<Plan, 'enterprise'>;
  /** Limits of the account, whose plan becomes `enterprise`. */
  readonly perMinute?: number;
  readonly perDay?: number;
  /** Default: never. */
  readonly expiresAt?: Date;
}

const NO_LIMIT = 1_000_000_000;

/** Returns a function that creates a key of a store, and returns its secret. */
export function keyCreator(app: NestFastifyApplication, allScopes: readonly string[]) {
  /** The plans of the accounts by name: a further key of an account must name its plan. */
  const plans = new Map<string, PlanChoice>();
  return async (options: TestKeyOptions = {}): Promise<string> => {
    const { account = `account ${plans.size + 1}`, scopes = allScopes, expiresAt } = options;
    const choice = choiceOf(options, plans.get(account));
    const keys = app.get(ApiKeysService, { strict: false });
    const { key } = await keys.create({ account, choice, scopes, expiresAt, label: 'test' });
    plans.set(account, choice);
    return key;
  };
}

function choiceOf(options: TestKeyOptions, known: PlanChoice | undefined): PlanChoice {
  const { plan, perMinute, perDay } = options;
  if (plan !== undefined) return { plan, perMinute: null, perDay: null };
  if (known !== undefined && perMinute === undefined && perDay === undefined) return known;
  return { plan: 'enterprise', perMinute: perMinute ?? NO_LIMIT, perDay: perDay ?? NO_LIMIT };
}
