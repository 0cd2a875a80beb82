import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../platform/runtime/clock';
import type { ApiKeyEntity } from './api-key.entity';
import type { IssuedKey } from './api-keys.service';
import { isKeyId, unknownKey } from './key-id';
import { KeyRotationRepository } from './key-rotation.repository';
import { createSecret, storedFormOf } from './secret';
import { recordAudit } from '../platform/database/audit';
import { UserError } from '../platform/errors/user-error';

/** A key with its new secret, which is not stored and cannot be read again. */
export interface RotatedKey extends IssuedKey {
  /** From this time only the new secret is valid. */
  readonly graceEndsAt: Date;
}

@Injectable()
export class KeyRotationService {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly rotations: KeyRotationRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Gives a key a new secret. Each older secret expires at the end of this grace period, at the end of its own, or
   * with the key, whichever is first. Id, account, scopes, expiry and bans do not change.
   *
   * @throws UserError if the key does not exist, is revoked or has expired
   */
  rotate(id: string, graceMs: number): Promise<RotatedKey> {
    return this.source.transaction((manager) => this.rotateIn(manager, id, graceMs));
  }

  private async rotateIn(manager: EntityManager, id: string, graceMs: number): Promise<RotatedKey> {
    const key = isKeyId(id) ? await this.rotations.lock(id, manager) : null;
    if (!key) throw unknownKey(id);
    // Read after the lock, because waiting for it can take time.
    const now = this.clock.now();
    requireUsable(key, now);
    // The prefix stays the key's own: this command may run with another DEPLOYMENT.
    const secret = createSecret(key.prefix);
    const graceEndsAt = new Date(now + graceMs);
    await this.rotations.replaceSecret(key, storedFormOf(secret, key.prefix), graceEndsAt, manager);
    const { name, plan } = await this.rotations.accountOf(key, manager);
    const details = `older secrets until ${graceEndsAt.toISOString()}`;
    await recordAudit(manager, { command: 'keys rotate', account: name, keyId: id, details });
    const { scopes, expiresAt } = key;
    return {
      id: key.id,
      key: secret,
      account: name,
      plan,
      scopes,
      expiresAt,
      graceEndsAt: earlier(graceEndsAt, expiresAt),
    };
  }
}

function requireUsable({ id, revokedAt, expiresAt }: ApiKeyEntity, now: number): void {
  if (revokedAt) throw new UserError(`The key ${id} was revoked: create a new key instead.`);
  if (expiresAt && expiresAt.getTime() <= now) {
    throw new UserError(`The key ${id} has expired: create a new key instead.`);
  }
}

function earlier(time: Date, other: Date | null): Date {
  return other && other < time ? other : time;
}
