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

/** Creates keys of a store. */
export class TestKeys {
  /** The plans of the accounts by name: a further key of an account must name its plan. */
  private readonly plans = new Map<string, PlanChoice>();

  constructor(
    private readonly app: NestFastifyApplication,
    private readonly scopes: readonly string[],
  ) {}

  /** @returns the secret */
  async create(options: TestKeyOptions = {}): Promise<string> {
    const { account = `account ${this.plans.size + 1}`, scopes = this.scopes, expiresAt } = options;
    const choice = choiceOf(options, this.plans.get(account));
    const keys = this.app.get(ApiKeysService, { strict: false });
    const { key } = await keys.create({ account, choice, scopes, expiresAt, label: 'test' });
    this.plans.set(account, choice);
    return key;
  }
}

function choiceOf(options: TestKeyOptions, known: PlanChoice | undefined): PlanChoice {
  const { plan, perMinute, perDay } = options;
  if (plan !== undefined) return { plan, perMinute: null, perDay: null };
  if (known !== undefined && perMinute === undefined && perDay === undefined) return known;
  return { plan: 'enterprise', perMinute: perMinute ?? NO_LIMIT, perDay: perDay ?? NO_LIMIT };
}
