import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { KeyPrefix } from './secret';

/** A key as the service writes it, with the hash of its newest secret. The table `rotated_secrets` has the older ones. */
@Entity('api_keys')
export class ApiKeyEntity {
  @PrimaryColumn({ type: 'uuid', default: () => 'gen_random_uuid()' })
  readonly id!: string;

  @Column({ type: 'bigint', name: 'account_id' })
  readonly accountId!: bigint;

  @Column({ type: 'bytea', name: 'secret_hash', select: false })
  readonly secretHash!: Buffer;

  @Column({ type: 'text' })
  readonly prefix!: KeyPrefix;

  @Column({ type: 'text', name: 'last_four' })
  readonly lastFour!: string;

  @Column({ type: 'text', default: '' })
  readonly label!: string;

  @Column({ type: 'text', array: true })
  readonly scopes!: readonly string[];

  /** The only addresses, or CIDR blocks, of clients that may use the key; empty: all may. */
  @Column({ type: 'inet', array: true, default: [] })
  readonly addresses!: readonly string[];

  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true })
  readonly expiresAt!: Date | null;

  @Column({ type: 'timestamptz', name: 'revoked_at', nullable: true })
  readonly revokedAt!: Date | null;
}
