import { ApiSchema } from '@nestjs/swagger';
import { Integer, Text, Timestamp } from '../api/fields/fields';
import { QuickDto } from '../api/fields/validation.pipe';

const COUNT = { min: 0, max: Number.MAX_SAFE_INTEGER } as const;

@ApiSchema({ description: 'The requests of a key on a day.' })
export class KeyUsage {
  @Timestamp({ description: 'The UTC day.', example: '2026-11-21' }, 'day')
  readonly date!: string;

  @Text({
    max: 255,
    description: 'Identifier of the key. It is not secret.',
    example: '5a4b1f1e-6c8e-4d6e-9f0a-1b2c3d4e5f60',
  })
  readonly keyId!: string;

  @Text({
    max: 100,
    nullable: true,
    description: 'Text that the creator of the key gave it; null without one.',
    example: 'shop',
  })
  readonly label!: string | null;

  @Integer({ ...COUNT, description: 'Requests that counted in the windows of the account.', example: 940 })
  readonly admitted!: number;

  @Integer({ ...COUNT, description: 'Requests that a limit or a ban rejected with 429.', example: 12 })
  readonly rejected!: number;

  @Integer({ ...COUNT, description: 'Admitted requests with another 4xx.', example: 3 })
  readonly failed!: number;

  @Integer({ ...COUNT, description: 'Admitted requests with a 5xx.', example: 0 })
  readonly errors!: number;
}

@QuickDto()
export class UsageQuery {
  @Timestamp({ optional: true, description: 'The first day. Default: 29 days before `to`.' }, 'day')
  readonly from?: string;

  @Timestamp({ optional: true, description: 'The last day. Default: today, in UTC.' }, 'day')
  readonly to?: string;

  @Text({
    max: 100,
    optional: true,
    description: 'Only with the scope `admin`: the name of another account.',
  })
  readonly account?: string;
}
