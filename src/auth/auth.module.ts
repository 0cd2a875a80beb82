import { Module } from '@nestjs/common';
import { Authenticator, CheckedAuthenticator, OWN_AUTHENTICATOR } from './guards/authenticator';
import { BearerGuard } from './guards/bearer.guard';
import { KeyAuthenticator } from './guards/key-authenticator';
import { KnownKeysRepository } from './guards/known-keys.repository';
import { ScopeGuard } from './guards/scope.guard';

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
