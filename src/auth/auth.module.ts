import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountEntity } from './account.entity';
import { AccountsRepository } from './accounts.repository';
import { ApiKeyEntity } from './api-key.entity';
import { ApiKeysRepository } from './api-keys.repository';
import { ApiKeysService } from './api-keys.service';
import { AuthGuard } from './auth.guard';
import { Authenticator } from './authenticator';
import { KeyCache } from './key-cache';

@Module({
  imports: [TypeOrmModule.forFeature([AccountEntity, ApiKeyEntity])],
  providers: [AccountsRepository, ApiKeysRepository, ApiKeysService, KeyCache, Authenticator, AuthGuard],
  exports: [AccountsRepository, ApiKeysService, AuthGuard],
})
export class AuthModule {}
