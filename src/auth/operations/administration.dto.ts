import { ApiSchema, IntersectionType, PartialType, PickType } from '@nestjs/swagger';
import {
  ACCOUNT_NAME_RULE,
  isAccountName,
  isShortText,
  MAX_NAME_LENGTH,
  SHORT_TEXT_RULE,
} from '../accounts/short-text';
import { GRACE_HOURS, KEY_DAYS, MAX_ADDRESSES, MAX_GRACE_MS } from '../keys/api-keys.service';
import { MAX_REQUESTS, type Plan, PLANS } from '../accounts/plans';
import { isCidr } from '../../config/parsers';
import { SortedPageQuery } from '../../api/lists/page';
import { HOUR_MS, SECOND_MS } from '../../time/time';
import { Flag, Instant, Int64, Integer, OneOf, Text, Timestamp } from '../../api/fields/fields';
import {
  AtLeastOne,
  BodyExample,
  declareField,
  type FieldFacts,
  OptionalBody,
} from '../../api/fields/validation.pipe';

interface ListFacts extends FieldFacts {
  readonly min: number;
  readonly max: number;
  readonly pattern: string;
  /** Completes `name must be a list of 1 to 3 …`. */
  readonly rule: string;
  readonly isText?: (text: string) => boolean;
}

function Texts({ min, max, pattern, rule, isText, ...facts }: ListFacts): PropertyDecorator {
  const isValidText = isText ?? ((text) => new RegExp(pattern).test(text));
  const items = { type: 'string', minLength: 1, maxLength: 255, pattern };
  return declareField(facts, {
    schema: { type: 'array', minItems: min, maxItems: max, uniqueItems: true, items },
    rule: `a list of ${min} to ${max} different ${rule}`,
    isValid: (given) =>
      Array.isArray(given) &&
      given.length >= min &&
      given.length <= max &&
      new Set(given).size === given.length &&
      given.every((each) => typeof each === 'string' && isValidText(each)),
  });
}

export const NAME_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: 100,
  // Neither `*`, `.` nor `..`.
  pattern: '^([^*.]|[^.].|.[^.]|...)',
} as const;
const NAME = { max: 100, description: 'Name of the account.', example: 'acme' } as const;
const LABEL = { max: 100, description: 'Text for people.', example: 'shop' } as const;
const EXPIRY = {
  nullable: true,
  description: `When it expires; null for never. A new key expires by default after ${KEY_DAYS} days.`,
  example: '2099-12-31T23:59:59.000Z',
} as const;
const LIMIT = { min: 1, max: MAX_REQUESTS, nullable: true } as const;
const KEY = {
  max: 255,
  description: 'Identifier of the key.',
  example: '5a4b1f1e-6c8e-4d6e-9f0a-1b2c3d4e5f60',
} as const;

@ApiSchema({ description: 'An account. Its keys share its limits.' })
export class Account {
  @ShortText(NAME, '', NAME_SCHEMA, () => true)
  readonly name!: string;

  @OneOf(
    { name: 'Plan', description: 'Plan of an account.', values: Object.keys(PLANS) },
    { description: 'Plan of the account. A new account is `free` by default.', example: 'free' },
  )
  readonly plan!: Plan;

  @Integer({ ...LIMIT, description: 'Of `enterprise`: its requests per minute. Null for other plans.' })
  readonly perMinute!: number | null;

  @Integer({ ...LIMIT, description: 'Of `enterprise`: its requests per UTC day. Null for other plans.' })
  readonly perDay!: number | null;

  @Timestamp({ description: 'When it was created.', example: '2026-11-21T12:00:00.000Z' })
  readonly createdAt!: Date;

  @Timestamp({ nullable: true, description: 'Since when its keys are invalid; null if they are valid.' })
  readonly disabledAt!: Date | null;
}

class PlanChange extends PartialType(PickType(Account, ['plan', 'perMinute', 'perDay']), {
  skipNullProperties: false,
}) {}

/** Declares a text that is kept in NFC. */
function ShortText(
  facts: FieldFacts<string>,
  rule: string,
  schema: object,
  isText: (text: string) => boolean,
) {
  return declareField(facts, {
    schema: { type: 'string', ...schema },
    rule,
    isValid: (value) => typeof value === 'string' && isText(value),
    fromJson: (value) => (typeof value === 'string' ? value.normalize() : value),
  });
}

@ApiSchema({ description: 'An account to create.' })
export class NewAccount extends IntersectionType(PickType(Account, ['name']), PlanChange) {
  @ShortText(
    NAME,
    ACCOUNT_NAME_RULE,
    // White space is inside only.
    { minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: String.raw`^([^\s*.]|[^\s.]\S|\S[^\s.]|\S.+\S)$` },
    isAccountName,
  )
  declare readonly name: string;
}

@AtLeastOne()
@BodyExample({ disabled: false })
@ApiSchema({ description: 'New values of an account. Members that are left out keep their value.' })
export class AccountChange extends PlanChange {
  @Flag({ optional: true, description: 'True makes its keys invalid, false valid again.', example: false })
  readonly disabled?: boolean;
}

@ApiSchema({ description: 'A key of an account, without its secret.' })
export class AccountKey {
  @Text(KEY)
  readonly id!: string;

  @Text(NAME)
  readonly account!: string;

  @Text({ min: 0, ...LABEL })
  readonly label!: string;

  @Text({ max: 20, description: 'Beginning of its secret.', example: 'ask_live_' })
  readonly prefix!: string;

  @Text({ max: 4, description: 'End of its secret.', example: '9kEf' })
  readonly lastFour!: string;

  @Texts({
    description:
      'What the key may do. A new key may by default read and add animals and orders, and read events.',
    example: ['pets:read', 'pets:write'],
    min: 1,
    max: 1_000,
    pattern: '^(admin|[a-z][a-z0-9-]*:[!-~]+)$',
    rule: 'scopes',
  })
  readonly scopes!: readonly string[];

  @Texts({
    description:
      'The only addresses, or CIDR blocks, of clients that may use the key; an empty list allows all.',
    example: ['192.0.2.0/24'],
    min: 0,
    max: MAX_ADDRESSES,
    pattern: '^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$',
    rule: 'addresses or CIDR blocks such as 192.0.2.0/24',
    isText: isCidr,
  })
  readonly addresses!: readonly string[];

  @Timestamp({ description: 'When it was created.', example: '2026-11-21T12:00:00.000Z' })
  readonly createdAt!: Date;

  @Timestamp(EXPIRY)
  readonly expiresAt!: Date | string | null;

  @Timestamp({ nullable: true, description: 'When it was revoked; null if it was not.' })
  readonly revokedAt!: Date | null;

  @Timestamp({ nullable: true, description: 'When its ban ends; null if it is not banned.' })
  readonly bannedUntil!: Date | null;

  @Timestamp({
    nullable: true,
    isInEntityTag: false,
    description: 'The minute of its last use; null if it was never used.',
  })
  readonly lastUsedAt!: Date | null;
}

@BodyExample({ label: 'shop' })
@ApiSchema({ description: 'A key to create.' })
export class NewKey extends PartialType(PickType(AccountKey, ['label', 'scopes', 'addresses', 'expiresAt']), {
  skipNullProperties: false,
}) {
  @ShortText(
    { ...LABEL, optional: true },
    `empty, or ${SHORT_TEXT_RULE}`,
    {
      minLength: 0,
      maxLength: LABEL.max,
      pattern: String.raw`^([^\s\x00-\x1F\x7F-\x9F]([^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F])?)?$`,
    },
    (text) => text === '' || isShortText(text),
  )
  declare readonly label?: string;

  @Instant({ ...EXPIRY, optional: true })
  declare readonly expiresAt?: string | null;
}

@AtLeastOne()
@BodyExample({ label: 'shop window' })
@ApiSchema({ description: 'New values of a key. Members that are left out keep their value.' })
export class KeyChange extends PickType(NewKey, ['label', 'scopes', 'addresses', 'expiresAt']) {}

@ApiSchema({ description: 'How to rotate a key.' })
@OptionalBody()
export class Rotation {
  @Integer({
    min: 0,
    max: MAX_GRACE_MS / SECOND_MS,
    optional: true,
    description: `How long older secrets still work, in seconds; ${GRACE_HOURS} hours if omitted.`,
    example: 3_600,
  })
  readonly graceSeconds: number = (GRACE_HOURS * HOUR_MS) / SECOND_MS;
}

@ApiSchema({ description: 'A key with its new secret, which no other response has.' })
export class IssuedKey extends AccountKey {
  @Text({ max: 45, description: 'The secret: send it as `Bearer` token.', example: 'ask_live_…' })
  readonly key!: string;

  @Timestamp({
    optional: true,
    description: 'After a rotation: from this time only the new secret is valid.',
  })
  readonly graceEndsAt?: Date;
}

@ApiSchema({ description: 'A change of an account, key, webhook or the database, and where it came from.' })
export class AuditEntry {
  @Int64({ description: 'Identifier. Later entries have higher ones.', example: 1 })
  readonly id!: bigint;

  @Timestamp({ description: 'When the change was made.', example: '2026-11-21T12:00:00.000Z' })
  readonly at!: Date;

  @Text({ max: 100, description: 'The change, named like a command.', example: 'accounts disable' })
  readonly command!: string;

  @Text({ ...NAME, nullable: true })
  readonly account!: string | null;

  @Text({ ...KEY, nullable: true })
  readonly keyId!: string | null;

  @Text({ min: 0, max: 300_000, description: 'The new values. Never a secret.', example: '' })
  readonly details!: string;

  @Text({ max: 255, nullable: true, description: 'The user of a command; null for a change over HTTP.' })
  readonly osUser!: string | null;

  @Text({ ...KEY, nullable: true, description: 'Identifier of the key that made a change over HTTP.' })
  readonly madeByKey!: string | null;
}

export class ListAuditQuery extends SortedPageQuery {
  @Text({ max: 100, optional: true, description: 'Only changes of this account and its keys.' })
  readonly account?: string;
}
