import { ApiSchema, PartialType, PickType } from '@nestjs/swagger';
import { Integer, Text, Timestamp } from '../../api/fields/fields';
import {
  AtLeastOne,
  BodyExample,
  declareField,
  type FieldFacts,
  OptionalBody,
} from '../../api/fields/validation.pipe';
import { PathParam } from '../../api/routes/route-facts';
import { isCidr } from '../../config/parsers';
import { UUID } from '../../database/sql';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../time/time';
import { ACCOUNT, KEY_ID, KEY_ID_FACTS, ShortText } from '../accounts/accounts.dto';
import { accountErrors } from '../accounts/accounts.errors';
import { isShortText, SHORT_TEXT_RULE } from '../accounts/short-text';

export const MAX_ADDRESSES = 20;
/** The days after which a new key expires, and the hours of grace of a rotation, unless the request names others. */
export const KEY_DAYS = 365;
export const GRACE_HOURS = 24;
export const MAX_GRACE_MS = 7 * DAY_MS;

const KEY_ID_FORM = new RegExp(UUID, 'i');

const LABEL = { max: 100, description: 'Text for people.', example: 'shop' } as const;
const EXPIRY = {
  nullable: true,
  description: `When it expires; null for never. A new key expires by default after ${KEY_DAYS} days.`,
  example: '2099-12-31T23:59:59.000Z',
} as const;

/** True if the text is a UUID. PostgreSQL would reject any other text with a syntax error. */
export function isKeyId(text: string): boolean {
  return KEY_ID_FORM.test(text);
}

/** Injects the id of the key in the path. */
export const KeyId = () =>
  PathParam(
    {
      name: 'keyId',
      ...KEY_ID_FACTS,
      schema: { type: 'string', format: 'uuid', minLength: 36, maxLength: 36 },
    },
    (text) => {
      if (!isKeyId(text)) throw accountErrors.key_not_found();
      return text.toLowerCase();
    },
    accountErrors.key_not_found,
  );

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

@ApiSchema({ description: 'A key of an account, without its secret.' })
export class AccountKey {
  @Text(KEY_ID)
  readonly id!: string;

  @Text(ACCOUNT)
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

  @Timestamp({ description: 'When it was created.' })
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

  @Timestamp({ ...EXPIRY, optional: true }, 'given')
  declare readonly expiresAt?: Date | string | null;
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
