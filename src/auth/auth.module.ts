import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountEntity } from './account.entity';
import { AccountsRepository } from './accounts.repository';
import { AccountsService } from './accounts.service';
import { ApiKeyEntity } from './api-key.entity';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { AuthGuard } from './auth.guard';
import { Authenticator } from './authenticator';
import { KeyCache } from './key-cache';
import { KeyRotationRepository } from './key-rotation.repository';
import { KeyRotationService } from './key-rotation.service';
import { LastUsed } from './last-used';
import { RotatedSecretEntity } from './rotated-secret.entity';

@Module({
  imports: [TypeOrmModule.forFeature([AccountEntity, ApiKeyEntity, RotatedSecretEntity])],
  providers: [
    AccountsService,
    AccountsRepository,
    ApiKeysRepository,
    ApiKeysService,
    KeyCache,
    KeyRotationRepository,
    KeyRotationService,
    LastUsed,
    Authenticator,
    AuthGuard,
  ],
  exports: [AccountsService, ApiKeysService, AuthGuard, KeyRotationService],
})
export class AuthModule {}
