import { type Command, InvalidArgumentError } from 'commander';
import { isPlan, isScope, type Plan, type PlanChoice, type Scope } from '../auth';
import { urlOf } from '../config/parsers';

/** Readers of option texts; what they refuse is wrong usage. */

const MS_PER_DAY = 86_400_000;
const MS_PER_UNIT: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: MS_PER_DAY };
const LONGEST_GRACE_MS = 7 * MS_PER_DAY;
const LONGEST_DAYS = 36_500;
const LARGEST_NUMBER = 1_000_000_000;
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

/** A length of time up to 7 days, such as `24h`, in milliseconds; `0` needs no unit. */
export function grace(text: string): number {
  const [, digits, unit = ''] = /^(0|[1-9][0-9]{0,5})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  const ms = Number(digits) * (MS_PER_UNIT[unit] ?? Number.NaN);
  if (!(ms <= LONGEST_GRACE_MS)) {
    throw new InvalidArgumentError('Give 0, or a time up to 7 days such as 90s, 30m, 24h or 7d.');
  }
  return ms;
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

/** How many: of requests in a limit, of animals. */
export function wholeNumber(text: string): number {
  const number = /^[1-9][0-9]*$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= LARGEST_NUMBER)) {
    throw new InvalidArgumentError(`Give a whole number from 1 to ${LARGEST_NUMBER}.`);
  }
  return number;
}

/** Any text will do that was given and can be shown again. */
export function randomSeed(text: string): string {
  if (text === '' || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError('Give a text without control characters, such as 42.');
  }
  return text;
}

/** The URL of a PostgreSQL database. Commander would repeat what a parser of its own refuses; it may hold a password. */
export function databaseUrl(text: string, command: Command): string {
  try {
    return urlOf('postgres', 'postgresql')(text);
  } catch {
    return command.error('error: --to takes a URL such as postgresql://user:password@host:5432/database.');
  }
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
