import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountEntity } from './account.entity';
import { AccountsRepository } from './accounts.repository';
import { AccountsService } from './accounts.service';
import { AuditRepository } from './audit.repository';
import { ApiKeyEntity } from './api-key.entity';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { KeyRotationRepository } from './key-rotation.repository';
import { KeyRotationService } from './key-rotation.service';
import { RotatedSecretEntity } from './rotated-secret.entity';

@Module({
  imports: [TypeOrmModule.forFeature([AccountEntity, ApiKeyEntity, RotatedSecretEntity])],
  providers: [
    AccountsRepository,
    AccountsService,
    ApiKeysRepository,
    AuditRepository,
    ApiKeysService,
    KeyRotationRepository,
    KeyRotationService,
  ],
  exports: [AccountsService, ApiKeysService, AuditRepository, KeyRotationService],
})
export class AccountsModule {}
