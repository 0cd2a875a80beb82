import { ApiSchema, IntersectionType, PartialType, PickType } from '@nestjs/swagger';
import { Flag, Integer, OneOf, Timestamp } from '../../api/fields/fields';
import { AtLeastOne, BodyExample, declareField, type FieldFacts } from '../../api/fields/validation.pipe';
import { PathParam } from '../../api/routes/route-facts';
import { accountErrors } from './accounts.errors';
import { MAX_REQUESTS, type Plan, PLANS } from './plans';
import { ACCOUNT_NAME_RULE, isAccountName, MAX_NAME_LENGTH } from './short-text';

const NAME_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: 100,
  // Neither `*`, `.` nor `..`.
  pattern: '^([^*.]|[^.].|.[^.]|...)',
} as const;
const ACCOUNT_FACTS = { description: 'Name of the account.', example: 'acme' } as const;
export const ACCOUNT = { max: 100, ...ACCOUNT_FACTS } as const;
export const KEY_ID_FACTS = {
  description: 'Identifier of the key.',
  example: '5a4b1f1e-6c8e-4d6e-9f0a-1b2c3d4e5f60',
} as const;
export const KEY_ID = { max: 255, ...KEY_ID_FACTS } as const;
const LIMIT = { min: 1, max: MAX_REQUESTS, nullable: true } as const;

/** Injects the name of the account in the path. */
export const AccountName = () =>
  PathParam(
    { name: 'account', ...ACCOUNT_FACTS, schema: NAME_SCHEMA },
    (text) => {
      // PostgreSQL stores neither.
      if (/[\0\p{Cs}]/u.test(text)) throw accountErrors.account_not_found();
      return text;
    },
    accountErrors.account_not_found,
  );

/** Declares a text that is kept in NFC. */
export function ShortText(
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

@ApiSchema({ description: 'An account. Its keys share its limits.' })
export class Account {
  @ShortText(ACCOUNT, '', NAME_SCHEMA, () => true)
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

  @Timestamp({ description: 'When it was created.' })
  readonly createdAt!: Date;

  @Timestamp({ nullable: true, description: 'Since when its keys are invalid; null if they are valid.' })
  readonly disabledAt!: Date | null;
}

class PlanChange extends PartialType(PickType(Account, ['plan', 'perMinute', 'perDay']), {
  skipNullProperties: false,
}) {}

@ApiSchema({ description: 'An account to create.' })
export class NewAccount extends IntersectionType(PickType(Account, ['name']), PlanChange) {
  @ShortText(
    ACCOUNT,
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
