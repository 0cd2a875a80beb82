import { type Command, InvalidArgumentError, Option } from 'commander';
import { ACCOUNT_NAME_RULE, isAccountName, isShortText, PLANS, SHORT_TEXT_RULE } from '../accounts';
import type { Plan, PlanChoice } from '../accounts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/runtime/time';

const MS_PER_UNIT: Readonly<Record<string, number>> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
const MAX_GRACE_MS = 7 * DAY_MS;
const MAX_DAYS = 36_500;
const MAX_NUMBER = 1_000_000_000;

/** Returns the parser of an option. It rejects undefined as wrong usage: exit status 2. */
function parserOf<T>(parse: (text: string) => T | undefined, rule: string): (text: string) => T {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(`Give ${rule}.`);
    return value;
  };
}

/** Parses days from now, such as `90d`. `never` stays a text, because Commander turns undefined into an empty text. */
export const expiry = parserOf((text): Date | 'never' | undefined => {
  if (text === 'never') return text;
  const days = Number(/^([1-9][0-9]{0,5})d$/.exec(text)?.[1]);
  return days <= MAX_DAYS ? new Date(Date.now() + days * DAY_MS) : undefined;
}, `a number of days up to ${MAX_DAYS}, such as 90d, or never`);

/** Parses a duration up to 7 days, such as `24h`, into milliseconds; `0` needs no unit. */
export const grace = parserOf((text) => {
  const [, digits, unit = ''] = /^(0|[1-9][0-9]{0,5})([smhd])$/.exec(text === '0' ? '0s' : text) ?? [];
  const ms = Number(digits) * (MS_PER_UNIT[unit] ?? Number.NaN);
  return ms <= MAX_GRACE_MS ? ms : undefined;
}, '0, or a time up to 7 days such as 90s, 30m, 24h or 7d');

/** Returns the option of a list of scopes. @param known those of the store */
export function scopesOption(known: readonly string[]): Option {
  const names = known.join(', ');
  const parse = (text: string) => {
    const scopes = [...new Set(text.split(','))];
    return scopes.every((scope) => known.includes(scope)) ? scopes : undefined;
  };
  const rule = `a comma-separated list of ${names}`;
  return new Option('--scopes <list>', rule).argParser(parserOf(parse, rule));
}

/** Returns the option of a plan. */
export function planOption(description: string): Option {
  return new Option('--plan <plan>', description).choices(Object.keys(PLANS));
}

/** Parses a number of requests or of animals. */
export const wholeNumber = parserOf(
  (text) => (/^[1-9][0-9]*$/.test(text) && Number(text) <= MAX_NUMBER ? Number(text) : undefined),
  `a whole number from 1 to ${MAX_NUMBER}`,
);

/** Accepts any text that a terminal can show again. */
export const randomSeed = parserOf(
  (text) => (text === '' || /\p{Cc}/u.test(text) ? undefined : text),
  'a text without control characters, such as 42',
);

export const label = parserOf((text) => (isShortText(text) ? text : undefined), SHORT_TEXT_RULE);
export const accountName = parserOf((text) => (isAccountName(text) ? text : undefined), ACCOUNT_NAME_RULE);

/** The base URL without a slash at its end. An address without a path means its `/v1`. */
export const BASE_URL_OPTION = new Option(
  '--base-url <url>',
  'base address of the API, such as https://api.example.com/v1',
)
  .makeOptionMandatory()
  .argParser(
    parserOf((text) => {
      const isPlain = URL.canParse(text) && /^https?:[^?#@]+$/i.test(text);
      return isPlain
        ? `${new URL(text).origin}${new URL(text).pathname.replace(/\/+$/, '') || '/v1'}`
        : undefined;
    }, 'an http or https URL, such as https://api.example.com/v1'),
  );

export interface PlanOptions {
  readonly plan?: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
}

/** Combines the options of a plan. Enterprise needs both numbers; the other plans accept none. */
export function planChoice(options: PlanOptions, command: Command): PlanChoice | undefined {
  const { plan: name, perMinute = null, perDay = null } = options;
  const given = [perMinute, perDay].filter((number) => number !== null).length;
  if (given !== (name === 'enterprise' ? 2 : 0)) {
    command.error(
      'error: --plan enterprise needs both --per-minute and --per-day; other plans accept neither.',
    );
  }
  return name && { plan: name, perMinute, perDay };
}
