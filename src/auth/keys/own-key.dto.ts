import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Integer, Nested, Text, Timestamp } from '../../api/fields/fields';
import { KEY_ID } from '../accounts/accounts.dto';

const COUNT = { min: 0, max: Number.MAX_SAFE_INTEGER } as const;
/** More than a store has. */
const MAX_SCOPES = 1_000;

@ApiSchema({ description: 'A window of the account, which all its keys share.' })
export class ApiKeyWindow {
  @Integer({ ...COUNT, description: 'Requests that the account may make in the window.', example: 60 })
  readonly limit!: number;

  @Integer({ ...COUNT, description: 'Requests that are left.', example: 59 })
  readonly remaining!: number;

  @Timestamp({
    description: 'When the window ends. A minute that has not begun ends as if it began now.',
    example: '2026-11-21T12:01:00.000Z',
  })
  readonly resetAt!: Date;
}

@ApiSchema({ description: 'The limits of the account. A request must fit in both windows.' })
export class ApiKeyLimits {
  @Nested(() => ApiKeyWindow, {
    description: 'The minute, which begins with the first request counted in it.',
  })
  readonly minute!: ApiKeyWindow;

  @Nested(() => ApiKeyWindow, {
    description: 'The UTC day.',
    example: { limit: 1_000, remaining: 940, resetAt: '2026-11-22T00:00:00.000Z' },
  })
  readonly day!: ApiKeyWindow;
}

@ApiSchema({ description: 'The strikes of the key: its 429 responses, at most one a second.' })
export class ApiKeyStrikes {
  @Integer({
    ...COUNT,
    description: 'Strikes of the last five minutes, given by the instance that responds. A ban resets them.',
    example: 0,
  })
  readonly count!: number;

  @Integer({ ...COUNT, description: 'Strikes that ban the key; 0: no key is banned.', example: 100 })
  readonly banAfter!: number;

  @Timestamp({
    nullable: true,
    description: 'When the ban of the key ends; null if it is not banned.',
    example: null,
  })
  readonly bannedUntil!: Date | null;
}

@ApiSchema({ description: 'An API key: what it may do, and how much is left.' })
export class ApiKey {
  @Text({ ...KEY_ID, description: 'Identifier of the key. It is not secret.' })
  readonly id!: string;

  @Text({
    min: 0,
    max: 100,
    nullable: true,
    description: 'Text that the creator of the key gave it. Null if keys have none in this deployment.',
    example: 'shop',
  })
  readonly label!: string | null;

  @Text({ max: 100, description: 'Name of its account.', example: 'acme' })
  readonly account!: string;

  @Text({ max: 100, description: 'Plan of the account.', example: 'free' })
  readonly plan!: string;

  @ApiProperty({
    type: 'array',
    maxItems: MAX_SCOPES,
    // RFC 6749, 3.3.
    items: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$' },
    description: 'What the key may do: `x-required-scopes` of each operation has the scopes that it needs.',
    example: ['pets:read', 'pets:write'],
  })
  readonly scopes!: readonly string[];

  @Timestamp({
    nullable: true,
    description: 'When the key was created. Null if the deployment does not know it.',
  })
  readonly createdAt!: Date | null;

  @Timestamp({
    nullable: true,
    description: 'When the sent key stops working, also by a rotation; null for never.',
    example: '2027-11-21T12:00:00.000Z',
  })
  readonly expiresAt!: Date | null;

  @Nested(() => ApiKeyLimits, { description: 'The limits of the account, and how much of them is left.' })
  readonly limits!: ApiKeyLimits;

  @Nested(() => ApiKeyStrikes, { description: 'How close the key is to a ban.' })
  readonly strikes!: ApiKeyStrikes;
}
