import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountEntity } from './account.entity';
import { AccountsService } from './accounts.service';
import { ApiKeyEntity } from './api-key.entity';
import { AccountsRepository } from './accounts.repository';
import { ApiKeysService } from './api-keys.service';

@Module({
  imports: [TypeOrmModule.forFeature([AccountEntity, ApiKeyEntity])],
  providers: [AccountsRepository, AccountsService, ApiKeysService],
  exports: [AccountsService, ApiKeysService],
})
export class AccountsModule {}
