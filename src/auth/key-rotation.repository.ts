import { Injectable } from '@nestjs/common';
import { type EntityManager, MoreThan } from 'typeorm';
import { AccountEntity } from './account.entity';
import { ApiKeyEntity } from './api-key.entity';
import { RotatedSecretEntity } from './rotated-secret.entity';
import type { StoredSecret } from './secret';

@Injectable()
export class KeyRotationRepository {
  /**
   * The key as it is now. No other rotation or revocation of it can happen before the transaction ends: of two
   * rotations at once the second one finds, and retires, the secret that the first one gave out.
   */
  async lock(id: string, manager: EntityManager): Promise<ApiKeyEntity | null> {
    return manager.findOne(ApiKeyEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  accountOf({ accountId }: ApiKeyEntity, manager: EntityManager): Promise<AccountEntity> {
    return manager.findOneByOrFail(AccountEntity, { id: accountId });
  }

  /** Puts a secret in the place of the key's present one, which becomes a rotated one. */
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
    // A grace that is running keeps its end, unless this rotation leaves less time to all that came before.
    await manager.update(
      RotatedSecretEntity,
      { keyId: id, validUntil: MoreThan(graceEndsAt) },
      { validUntil: graceEndsAt },
    );
    await manager.insert(RotatedSecretEntity, { secretHash, keyId: id, validUntil: graceEndsAt });
    await manager.update(ApiKeyEntity, { id }, { ...secret });
  }
}
