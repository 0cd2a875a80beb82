import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A secret that a rotation has replaced, known only by its hash. It is kept for good, because whoever sends it later
 * must hear that it is revoked, and not that it never was.
 */
@Entity('rotated_secrets')
export class RotatedSecretEntity {
  @PrimaryColumn({ type: 'bytea', name: 'secret_hash' })
  readonly secretHash!: Buffer;

  @Column({ type: 'uuid', name: 'key_id' })
  readonly keyId!: string;

  /** End of its grace; the expiry or the revocation of the key may come first. */
  @Column({ type: 'timestamptz', name: 'valid_until' })
  readonly validUntil!: Date;
}
