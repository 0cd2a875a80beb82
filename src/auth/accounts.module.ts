import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountEntity } from './accounts/account.entity';
import { AccountsService } from './accounts/accounts.service';
import { ApiKeyEntity } from './keys/api-key.entity';
import { AccountsRepository } from './accounts/accounts.repository';
import { ApiKeysRepository } from './keys/api-keys.repository';
import { ApiKeysService } from './keys/api-keys.service';

@Module({
  imports: [TypeOrmModule.forFeature([AccountEntity, ApiKeyEntity])],
  providers: [AccountsRepository, AccountsService, ApiKeysRepository, ApiKeysService],
  exports: [AccountsService, ApiKeysService],
})
export class AccountsModule {}
