import { Module } from '@nestjs/common';
import { AuthChecks } from './auth.checks';
import { Authenticator, OWN_AUTHENTICATOR } from './authenticator';
import { CheckedAuthenticator } from './checked-authenticator';
import { FallbackAuthGuard } from './fallback-auth.guard';
import { KeyAuthenticator } from './key-authenticator';
import { KeyCache } from './key-cache';
import { KnownKeysRepository } from './known-keys.repository';
import { LastUsed } from './last-used';

@Module({
  providers: [
    KnownKeysRepository,
    KeyCache,
    LastUsed,
    KeyAuthenticator,
    {
      provide: Authenticator,
      inject: [KeyAuthenticator, { token: OWN_AUTHENTICATOR, optional: true }],
      useFactory: (keys: Authenticator, own?: Authenticator) => (own ? new CheckedAuthenticator(own) : keys),
    },
    AuthChecks,
    FallbackAuthGuard,
  ],
  exports: [AuthChecks, FallbackAuthGuard, KeyAuthenticator],
})
export class AuthModule {}
