import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ADMIN_SCOPE, StoreExtension } from '../api/extension/extension';
import { AccountEntity } from './accounts/account.entity';
import { AccountsController } from './accounts/accounts.controller';
import { AccountsRepository } from './accounts/accounts.repository';
import { AccountsService } from './accounts/accounts.service';
import { AccessGuard, BearerGuard } from './guards/access.guard';
import { Authenticator, CheckedAuthenticator, OWN_AUTHENTICATOR } from './guards/authenticator';
import { KeyAuthenticator } from './guards/key-authenticator';
import { KnownKeysRepository } from './guards/known-keys.repository';
import { ApiKeyEntity } from './keys/api-key.entity';
import { ApiKeysRepository } from './keys/api-keys.repository';
import { ApiKeysService } from './keys/api-keys.service';
import { KeysController } from './keys/keys.controller';
import { OwnKeyController } from './keys/own-key.controller';

/** The guards of every request: its account and key, 401 and 403. */
@Module({
  providers: [
    KnownKeysRepository,
    KeyAuthenticator,
    {
      provide: Authenticator,
      inject: [KeyAuthenticator, { token: OWN_AUTHENTICATOR, optional: true }],
      useFactory: (keys: Authenticator, own?: Authenticator) => (own ? new CheckedAuthenticator(own) : keys),
    },
    BearerGuard,
    AccessGuard,
  ],
  exports: [BearerGuard, AccessGuard, KeyAuthenticator],
})
export class AuthModule {}

/** The services of accounts and keys, for HTTP and for the command line. */
@Module({
  imports: [TypeOrmModule.forFeature([AccountEntity, ApiKeyEntity])],
  providers: [AccountsRepository, AccountsService, ApiKeysRepository, ApiKeysService],
  exports: [AccountsService, ApiKeysService],
})
export class AccountsModule {}

@StoreExtension({
  name: 'administration',
  scopes: [ADMIN_SCOPE],
  tags: {
    accounts: 'The accounts with their plans, and the audit of every change of accounts and keys.',
    keys: 'The API keys of all accounts.',
  },
  imports: [AccountsModule],
  controllers: [AccountsController, KeysController],
})
export class AdministrationModule {}

@StoreExtension({
  name: 'key',
  tags: { key: 'The API key of the request: what it may do, and how much is left.' },
  controllers: [OwnKeyController],
})
export class OwnKeyModule {}
