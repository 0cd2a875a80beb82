import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  ACCOUNT_NAME_RULE,
  isAccountName,
  isPlanChoice,
  isShortText,
  MAX_ADDRESSES,
  MAX_GRACE_MS,
  MAX_REQUESTS,
  PLANS,
  SHORT_TEXT_RULE,
} from '../auth';
import type { Limits, Plan, PlanChoice } from '../auth';
import { isCidr } from '../config/parsers';
import { DAY_MS, durationMs } from '../time/time';
import { isCalendarDate } from '../api/fields/fields';

const MAX_DAYS = 36_500;
const MAX_MS = MAX_DAYS * DAY_MS;

/** Returns the parser of an option. It rejects undefined as wrong usage: exit status 2. */
function parserOf<T>(parse: (text: string) => T | undefined, rule: string): (text: string) => T {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(`Give ${rule}.`);
    return value;
  };
}

/** Parses a time from now, such as `1h` or `90d`. */
function fromNow(text: string): Date | undefined {
  const ms = durationMs(text, MAX_MS);
  return ms > 0 ? new Date(Date.now() + ms) : undefined;
}

export const within = parserOf(fromNow, 'a time such as 12h or 30d');

/** Parses a time from now. `never` stays a text, because Commander turns undefined into an empty text. */
export const expiry = parserOf(
  (text): Date | 'never' | undefined => (text === 'never' ? text : fromNow(text)),
  `a time up to ${MAX_DAYS}d, such as 1h or 90d, or never`,
);

export const day = parserOf((text) => (isCalendarDate(text) ? text : undefined), 'a date such as 2026-11-22');

/** Parses a duration up to 7 days, such as `24h`, into milliseconds. */
export const grace = parserOf((text) => {
  const ms = durationMs(text, MAX_GRACE_MS);
  return Number.isNaN(ms) ? undefined : ms;
}, '0, or a time up to 7 days such as 90s, 30m, 24h or 7d');

/** Returns the option of a list of scopes. @param known the store's scopes */
export function scopesOption(known: readonly string[]): Option {
  const names = known.join(', ');
  const parse = (text: string) => {
    const scopes = [...new Set(text.split(','))];
    return scopes.every((scope) => known.includes(scope)) ? scopes : undefined;
  };
  const rule = `a comma-separated list of ${names}`;
  return new Option('--scopes <list>', rule).argParser(parserOf(parse, rule));
}

/** Parses the addresses of a key; `any`, an empty list, allows all. */
export const addresses = parserOf((text) => {
  const blocks = text === 'any' ? [] : [...new Set(text.split(','))];
  return blocks.length <= MAX_ADDRESSES && blocks.every(isCidr) ? blocks : undefined;
}, `any, or up to ${MAX_ADDRESSES} addresses or CIDR blocks such as 192.0.2.7,2001:db8::/32`);

export const wholeNumber = parserOf(
  (text) => (/^[1-9][0-9]*$/.test(text) && Number(text) <= MAX_REQUESTS ? Number(text) : undefined),
  `a whole number from 1 to ${MAX_REQUESTS}`,
);

/** A name of the new package. Those of the store would be there twice. */
const PART_NAME =
  /^(?!(account|administration|config|event|key|mcp|order|pet|usage|webhook)s?$)(?=.{1,24}$)[a-z]+(-[a-z]+)*$/;

export const partName = parserOf(
  (text) => (PART_NAME.test(text) ? text : undefined),
  'lower-case words joined by dashes, at most 24 characters, and not a name of the store such as pets',
);

/** Returns the parser of a text, which is kept in NFC. */
const textOption = (isValid: (text: string) => boolean, rule: string) =>
  parserOf((text) => (isValid(text.normalize()) ? text.normalize() : undefined), rule);

export const label = textOption(isShortText, SHORT_TEXT_RULE);
export const accountName = textOption(isAccountName, ACCOUNT_NAME_RULE);

export interface PlanOptions extends Partial<Limits> {
  readonly plan?: Plan;
}

export function planOptions(description: string, isMandatory = false): Option[] {
  return [
    new Option('--plan <plan>', description).choices(Object.keys(PLANS)).makeOptionMandatory(isMandatory),
    new Option('--per-minute <n>', 'requests per minute of an Enterprise account').argParser(wholeNumber),
    new Option('--per-day <n>', 'requests per day of an Enterprise account').argParser(wholeNumber),
  ];
}

/** Combines the options of a plan, by default `free`. Enterprise needs both numbers; the other plans accept none. */
export function planChoice(options: PlanOptions, command: Command): PlanChoice {
  const { plan = 'free', perMinute = null, perDay = null } = options;
  const choice = { plan, perMinute, perDay };
  if (!isPlanChoice(choice)) {
    command.error('error: --plan enterprise needs --per-minute and --per-day; other plans accept neither.');
  }
  return choice;
}
