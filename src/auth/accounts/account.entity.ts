import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { Plan } from './plans';

/** A customer of the API, such as a shop. Its keys share its plan and its rate-limit windows. */
@Entity('accounts')
export class AccountEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  readonly id!: bigint;

  @Column({ type: 'text' })
  readonly name!: string;

  @Column({ type: 'text' })
  readonly plan!: Plan;

  @Column({ type: 'integer', name: 'per_minute', nullable: true })
  readonly perMinute!: number | null;

  @Column({ type: 'integer', name: 'per_day', nullable: true })
  readonly perDay!: number | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  readonly createdAt!: Date;

  /** If it is not null, its keys are invalid. */
  @Column({ type: 'timestamptz', name: 'disabled_at', nullable: true })
  readonly disabledAt!: Date | null;
}
