import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../clock';
import { AccountsError } from './accounts.error';
import type { ApiKeyEntity } from './api-key.entity';
import type { IssuedKey } from './api-keys.service';
import { isKeyId, unknownKey } from './key-id';
import { KeyRotationRepository } from './key-rotation.repository';
import { createSecret, storedFormOf } from './secret';

/** A key with its new secret, at the only moment at which that is known. */
export interface RotatedKey extends IssuedKey {
  /** From here on the new secret alone is valid. */
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
   * Gives a key a new secret. All the secrets that it had before end with the grace or sooner: by a grace of their
   * own that ends first, or with the key. Id, account, scopes, expiry and bans stay the key's.
   *
   * @throws AccountsError where there is no such key, or it has ended
   */
  rotate(id: string, graceMs: number): Promise<RotatedKey> {
    return this.source.transaction((manager) => this.rotateIn(manager, id, graceMs));
  }

  private async rotateIn(manager: EntityManager, id: string, graceMs: number): Promise<RotatedKey> {
    const key = isKeyId(id) ? await this.rotations.lock(id, manager) : null;
    if (!key) throw unknownKey(id);
    // After the lock: another rotation may have kept us waiting.
    const now = this.clock.now();
    refuseEnded(key, now);
    // The new secret is of the kind that the key was made for, whatever deployment this command runs in.
    const secret = createSecret(key.prefix);
    const graceEndsAt = new Date(now + graceMs);
    await this.rotations.replaceSecret(key, storedFormOf(secret, key.prefix), graceEndsAt, manager);
    const { name, plan } = await this.rotations.accountOf(key, manager);
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

function refuseEnded({ id, revokedAt, expiresAt }: ApiKeyEntity, now: number): void {
  if (revokedAt) throw new AccountsError(`The key ${id} was revoked: create a new one instead.`);
  if (expiresAt && expiresAt.getTime() <= now) {
    throw new AccountsError(`The key ${id} has expired: create a new one instead.`);
  }
}

function earlier(time: Date, other: Date | null): Date {
  return other && other < time ? other : time;
}
