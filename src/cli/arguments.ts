import { type Command, InvalidArgumentError } from 'commander';
import { isPlan, isScope, type Plan, type PlanChoice, type Scope } from '../auth';

/** Readers of option texts; what they refuse is wrong usage. */

const MS_PER_DAY = 86_400_000;
const LONGEST_DAYS = 36_500;
const LARGEST_LIMIT = 1_000_000_000;
const LONGEST_NAME = 100;

/** `90d` as the time that many days from now. Commander makes an empty text of undefined, so never is a word. */
export function expiry(text: string): Date | 'never' {
  if (text === 'never') return text;
  const days = Number(/^([1-9][0-9]{0,5})d$/.exec(text)?.[1]);
  if (!(days <= LONGEST_DAYS)) {
    throw new InvalidArgumentError(`Give a number of days up to ${LONGEST_DAYS}, such as 90d, or never.`);
  }
  return new Date(Date.now() + days * MS_PER_DAY);
}

export function scopes(text: string): readonly Scope[] {
  const wanted = text.split(',');
  const known = wanted.filter(isScope);
  if (known.length !== wanted.length || new Set(known).size !== known.length) {
    throw new InvalidArgumentError(
      'Give a comma list of pets:read, pets:write, orders:read, orders:write, each once.',
    );
  }
  return known;
}

export function plan(text: string): Plan {
  if (!isPlan(text)) throw new InvalidArgumentError('Give free, pro, business or enterprise.');
  return text;
}

export function limit(text: string): number {
  const number = /^[1-9][0-9]*$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= LARGEST_LIMIT)) {
    throw new InvalidArgumentError(`Give a whole number from 1 to ${LARGEST_LIMIT}.`);
  }
  return number;
}

/** The name of an account, or a label. */
export function shortText(text: string): string {
  // A leading dash is an option that has come to stand in the value's place.
  const isShort = text.trim() !== '' && !text.startsWith('-') && Array.from(text).length <= LONGEST_NAME;
  if (!isShort || !text.isWellFormed() || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError(
      `Give 1 to ${LONGEST_NAME} characters without control characters, not beginning with a dash.`,
    );
  }
  return text;
}

export interface PlanOptions {
  readonly plan?: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
}

/** Enterprise needs both numbers, the other plans have theirs; anything else is wrong usage of the command. */
export function planChoice(
  { plan: name, perMinute, perDay }: PlanOptions,
  command: Command,
): PlanChoice | undefined {
  const given = [perMinute, perDay].filter((number) => number !== undefined).length;
  if (name === 'enterprise' ? given !== 2 : given > 0) {
    command.error('error: --per-minute and --per-day belong to --plan enterprise, which needs both.');
  }
  return name && { plan: name, perMinute: perMinute ?? null, perDay: perDay ?? null };
}
