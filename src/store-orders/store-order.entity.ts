import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { OrderStatus } from './order-status';

/** An order of one animal by an account. It reserves the animal until it is delivered or cancelled. */
@Entity('store_orders')
export class StoreOrderEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  readonly id!: bigint;

  @Column({ type: 'bigint', name: 'account_id' })
  readonly accountId!: bigint;

  @Column({ type: 'bigint', name: 'pet_id' })
  readonly petId!: bigint;

  @Column({ type: 'text' })
  readonly status!: OrderStatus;

  @Column({ type: 'timestamptz', name: 'placed_at' })
  readonly placedAt!: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', default: () => 'now()' })
  readonly updatedAt!: Date;

  /** Null unless the order is placed and expires. */
  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true })
  readonly expiresAt!: Date | null;
}
