/** Requests that an account may make. A request must fit in both windows. */
export interface Limits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The plans (docs/specification.md). Each Enterprise account has its own limits. */
export const PLANS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  enterprise: 'custom',
} as const satisfies Readonly<Record<string, Limits | 'custom'>>;

export type Plan = keyof typeof PLANS;

/** A plan and its limits: numbers for Enterprise, null for the other plans. */
export interface PlanChoice {
  readonly plan: Plan;
  readonly perMinute: number | null;
  readonly perDay: number | null;
}

/** The plan of a new account, unless its creator names another. */
export const FREE: PlanChoice = { plan: 'free', perMinute: null, perDay: null };

/** The highest limit of an Enterprise account. */
export const MAX_REQUESTS = 1_000_000_000;

/** True if Enterprise has both limits, and another plan none. */
export function isPlanChoice({ plan, perMinute, perDay }: PlanChoice): boolean {
  return [perMinute, perDay].every((limit) => (limit !== null) === (plan === 'enterprise'));
}

export function limitsOf({ plan, perMinute, perDay }: PlanChoice): Limits {
  const limits = PLANS[plan];
  if (limits !== 'custom') return limits;
  if (perMinute === null || perDay === null) throw new Error('an Enterprise account without its limits');
  return { perMinute, perDay };
}

/** Prints the plans and their limits as a Markdown table. */
export function planTable(): string {
  const rows = Object.entries(PLANS).map(([plan, limits]) => {
    const both = limits === 'custom' ? [limits, limits] : [limits.perMinute, limits.perDay];
    const cells = both.map((each) => each.toLocaleString('en'));
    return `| ${plan.charAt(0).toUpperCase()}${plan.slice(1)} | ${cells.join(' | ')} |`;
  });
  const head = ['| plan | requests per minute | requests per day (UTC) |', '| --- | --- | --- |'];
  return [...head, ...rows].join('\n');
}
