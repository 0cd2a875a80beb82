import { Column, Entity, PrimaryGeneratedColumn, VirtualColumn } from 'typeorm';
import { nameOfEnabled } from '../auth';
import { EVENT_TYPES, firstAfter, type TypeFilter } from '../events';

export const MAX_WEBHOOKS = 10;

/** Without types a webhook has the store's own. */
export const waitingSince = (row: string) => {
  const types = `coalesce(${row}.types, '{${EVENT_TYPES.join()}}')`;
  return firstAfter(`${row}.position`, types, `${row}.account_id`);
};

/** An address to which an account gets its events. It is its own job: its position in the feed says what is left. */
@Entity('webhooks')
export class WebhookEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  readonly id!: bigint;

  @Column({ type: 'bigint', name: 'account_id' })
  readonly accountId!: bigint;

  /** The name of the account; null while it is disabled. */
  @VirtualColumn({ type: 'text', query: nameOfEnabled })
  readonly account!: string | null;

  @Column({ type: 'text' })
  readonly url!: string;

  /** Null for all. */
  @Column({ type: 'text', array: true, nullable: true })
  readonly types!: TypeFilter;

  @Column({ type: 'bytea' })
  readonly secret!: Buffer;

  /** The newest first: base64 and the end of their grace period. */
  @Column({ type: 'jsonb', name: 'replaced_secrets', default: [] })
  readonly replacedSecrets!: readonly (readonly [secret: string, until: string])[];

  @Column({ type: 'timestamptz', name: 'created_at' })
  readonly createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'updated_at' })
  readonly updatedAt!: Date;

  /** Every event of the webhook up to this id was delivered. */
  @Column({ type: 'bigint' })
  readonly position!: bigint;

  /** Failed attempts since the last delivery. */
  @Column({ type: 'integer', name: 'attempts', default: 0 })
  readonly failures!: number;

  @Column({ type: 'timestamptz', name: 'failing_since', nullable: true })
  readonly failingSince!: Date | null;

  /** The earliest begin of the next turn. A turn moves it ahead; as long as it has this value, the turn owns the webhook. */
  @Column({ type: 'timestamptz', name: 'due_at' })
  readonly dueAt!: Date;

  @Column({ type: 'timestamptz', name: 'disabled_at', nullable: true })
  readonly disabledAt!: Date | null;

  @Column({ type: 'timestamptz', name: 'last_delivery_at', nullable: true })
  readonly lastDeliveryAt!: Date | null;

  @Column({ type: 'text', name: 'last_error', nullable: true })
  readonly lastError!: string | null;

  /** True if its receiver took long for the last event. */
  @Column({ type: 'boolean', name: 'is_slow', default: false })
  readonly isSlow!: boolean;

  @VirtualColumn({ type: 'timestamptz', query: waitingSince })
  readonly waitingSince!: Date | null;
}
