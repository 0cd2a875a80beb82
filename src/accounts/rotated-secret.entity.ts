import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The hash of a secret that a rotation has replaced. The row is never deleted: a client that still sends the secret
 * gets `revoked_api_key` and not `invalid_api_key`.
 */
@Entity('rotated_secrets')
export class RotatedSecretEntity {
  @PrimaryColumn({ type: 'bytea', name: 'secret_hash' })
  readonly secretHash!: Buffer;

  @Column({ type: 'uuid', name: 'key_id' })
  readonly keyId!: string;

  /** End of its grace period. The key may expire or be revoked earlier. */
  @Column({ type: 'timestamptz', name: 'valid_until' })
  readonly validUntil!: Date;
}
