import { limitsOf, PLANS } from './plans';

const number = new Intl.NumberFormat('en');

/** Prints the plans and their limits as a Markdown table. */
export function planTable(): string {
  const plans = ['free', 'pro', 'business'] as const satisfies (keyof typeof PLANS)[];
  const rows = plans.map((plan) => {
    const { perMinute, perDay } = limitsOf({ plan, perMinute: null, perDay: null });
    return `| ${titled(plan)} | ${number.format(perMinute)} | ${number.format(perDay)} |`;
  });
  const head = ['| plan | requests per minute | requests per day (UTC) |', '| --- | --- | --- |'];
  return [...head, ...rows, `| Enterprise | ${PLANS.enterprise} | ${PLANS.enterprise} |`].join('\n');
}

function titled(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}
