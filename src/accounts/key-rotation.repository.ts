import { Injectable } from '@nestjs/common';
import { type EntityManager, MoreThan } from 'typeorm';
import { AccountEntity } from './account.entity';
import { ApiKeyEntity } from './api-key.entity';
import { RotatedSecretEntity } from './rotated-secret.entity';
import type { StoredSecret } from './secret';

@Injectable()
export class KeyRotationRepository {
  /**
   * Reads a key and locks its row, so that it cannot be rotated or revoked before the transaction ends. The second of
   * two concurrent rotations therefore finds, and replaces, the secret that the first one created.
   */
  async lock(id: string, manager: EntityManager): Promise<ApiKeyEntity | null> {
    return manager.findOne(ApiKeyEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  accountOf({ accountId }: ApiKeyEntity, manager: EntityManager): Promise<AccountEntity> {
    return manager.findOneByOrFail(AccountEntity, { id: accountId });
  }

  /** Replaces the secret of a key and keeps the old one as a rotated secret. */
  async replaceSecret(
    { id }: ApiKeyEntity,
    secret: StoredSecret,
    graceEndsAt: Date,
    manager: EntityManager,
  ): Promise<void> {
    const { secretHash } = await manager.findOneOrFail(ApiKeyEntity, {
      select: { secretHash: true },
      where: { id },
    });
    // Older secrets keep the end of their grace period, unless the new grace period ends earlier.
    await manager.update(
      RotatedSecretEntity,
      { keyId: id, validUntil: MoreThan(graceEndsAt) },
      { validUntil: graceEndsAt },
    );
    await manager.insert(RotatedSecretEntity, { secretHash, keyId: id, validUntil: graceEndsAt });
    await manager.update(ApiKeyEntity, { id }, { ...secret });
  }
}
