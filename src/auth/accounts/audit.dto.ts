import { ApiSchema } from '@nestjs/swagger';
import { Int64, Text, Timestamp } from '../../api/fields/fields';
import { SortedPageQuery } from '../../api/lists/page';
import { ACCOUNT, KEY_ID } from './accounts.dto';

@ApiSchema({ description: 'A change of an account, key, webhook or the database, and where it came from.' })
export class AuditEntry {
  @Int64({ description: 'Identifier. Later entries have higher ones.', example: 1 })
  readonly id!: bigint;

  @Timestamp({ description: 'When the change was made.' })
  readonly at!: Date;

  @Text({ max: 100, description: 'The change, named like a command.', example: 'accounts disable' })
  readonly command!: string;

  @Text({ ...ACCOUNT, nullable: true })
  readonly account!: string | null;

  @Text({ ...KEY_ID, nullable: true })
  readonly keyId!: string | null;

  @Text({ min: 0, max: 300_000, description: 'The new values. Never a secret.', example: '' })
  readonly details!: string;

  @Text({ max: 255, nullable: true, description: 'The user of a command; null for a change over HTTP.' })
  readonly osUser!: string | null;

  @Text({ ...KEY_ID, nullable: true, description: 'Identifier of the key that made a change over HTTP.' })
  readonly madeByKey!: string | null;
}

export class ListAuditQuery extends SortedPageQuery {
  @Text({ max: 100, optional: true, description: 'Only changes of this account and its keys.' })
  readonly account?: string;
}
