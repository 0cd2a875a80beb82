import { type Command, InvalidArgumentError } from 'commander';
import {
  ACCOUNT_NAME_RULE,
  isAccountName,
  isPlan,
  isShortText,
  type Plan,
  type PlanChoice,
  SHORT_TEXT_RULE,
} from '../accounts';
import { urlOf } from '../platform/config/parsers';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';

/** Parsers of options. A rejected value is wrong usage: exit status 2. */

const MS_PER_UNIT: Readonly<Record<string, number>> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
const MAX_GRACE_MS = 7 * DAY_MS;
const MAX_DAYS = 36_500;
const MAX_NUMBER = 1_000_000_000;

/** Parses days from now, such as `90d`. `never` stays a text, because Commander turns undefined into an empty text. */
export function expiry(text: string): Date | 'never' {
  if (text === 'never') return text;
  const days = Number(/^([1-9][0-9]{0,5})d$/.exec(text)?.[1]);
  if (!(days <= MAX_DAYS)) {
    throw new InvalidArgumentError(`Give a number of days up to ${MAX_DAYS}, such as 90d, or never.`);
  }
  return new Date(Date.now() + days * DAY_MS);
}

/** Parses a duration up to 7 days, such as `24h`, into milliseconds; `0` needs no unit. */
export function grace(text: string): number {
  const [, digits, unit = ''] = /^(0|[1-9][0-9]{0,5})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  const ms = Number(digits) * (MS_PER_UNIT[unit] ?? Number.NaN);
  if (!(ms <= MAX_GRACE_MS)) {
    throw new InvalidArgumentError('Give 0, or a time up to 7 days such as 90s, 30m, 24h or 7d.');
  }
  return ms;
}

/** Returns the parser of a list of scopes. @param known those of the store */
export function scopesOf(known: readonly string[]): (text: string) => readonly string[] {
  return (text) => {
    const wanted = text.split(',');
    if (wanted.some((scope) => !known.includes(scope)) || new Set(wanted).size !== wanted.length) {
      throw new InvalidArgumentError(
        `Give a comma-separated list of ${known.join(', ')}, each at most once.`,
      );
    }
    return wanted;
  };
}

/** Describes such a list. @param known the scopes of the store */
export function scopesText(known: readonly string[]): string {
  return `comma-separated list of scopes: ${known.join(', ')}`;
}

export function plan(text: string): Plan {
  if (!isPlan(text)) throw new InvalidArgumentError('Give free, pro, business or enterprise.');
  return text;
}

/** Parses a number of requests or of animals. */
export function wholeNumber(text: string): number {
  const number = /^[1-9][0-9]*$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= MAX_NUMBER)) {
    throw new InvalidArgumentError(`Give a whole number from 1 to ${MAX_NUMBER}.`);
  }
  return number;
}

/** Accepts any text that a terminal can show again. */
export function randomSeed(text: string): string {
  if (text === '' || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError('Give a text without control characters, such as 42.');
  }
  return text;
}

/** Parses the URL of a PostgreSQL database. Not an option parser, because Commander prints a rejected value. */
export function databaseUrl(text: string, command: Command): string {
  try {
    return urlOf('postgres', 'postgresql')(text);
  } catch {
    return command.error('error: --to takes a URL such as postgresql://user:password@host:5432/database.');
  }
}

export const label = parserOf(isShortText, SHORT_TEXT_RULE);
export const accountName = parserOf(isAccountName, ACCOUNT_NAME_RULE);

function parserOf(isValid: (text: string) => boolean, rule: string): (text: string) => string {
  return (text) => {
    // With a leading dash the text is the next option, and the value is missing.
    if (isValid(text) && !text.startsWith('-')) return text;
    throw new InvalidArgumentError(`Give ${rule} and without a leading dash.`);
  };
}

export interface PlanOptions {
  readonly plan?: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
}

/** Combines the options of a plan. Enterprise needs both numbers; the other plans accept none. */
export function planChoice(
  { plan: name, perMinute, perDay }: PlanOptions,
  command: Command,
): PlanChoice | undefined {
  const given = [perMinute, perDay].filter((number) => number !== undefined).length;
  if (name === 'enterprise' ? given !== 2 : given > 0) {
    command.error(
      'error: --plan enterprise needs both --per-minute and --per-day; other plans accept neither.',
    );
  }
  return name && { plan: name, perMinute: perMinute ?? null, perDay: perDay ?? null };
}
