import { Module } from '@nestjs/common';
import { AuthChecks } from './auth.checks';
import { Authenticator } from './authenticator';
import { FallbackAuthGuard } from './fallback-auth.guard';
import { KeyCache } from './key-cache';
import { KnownKeysRepository } from './known-keys.repository';
import { LastUsed } from './last-used';

@Module({
  providers: [KnownKeysRepository, KeyCache, LastUsed, Authenticator, AuthChecks, FallbackAuthGuard],
  exports: [AuthChecks, FallbackAuthGuard],
})
export class AuthModule {}
