import { Module } from '@nestjs/common';
import { Authenticator, CheckedAuthenticator, OWN_AUTHENTICATOR } from './authenticator';
import { BearerGuard } from './bearer.guard';
import { KeyAuthenticator } from './key-authenticator';
import { KnownKeysRepository } from './known-keys.repository';
import { ScopeGuard } from './scope.guard';

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
    ScopeGuard,
  ],
  exports: [BearerGuard, ScopeGuard, KeyAuthenticator],
})
export class AuthModule {}
