export { expiredApiKey, insufficientScope, invalidApiKey, missingApiKey, revokedApiKey } from './auth.errors';
export { AuthModule } from './auth.module';
export { Authenticator, type Identity, OWN_AUTHENTICATOR } from './authenticator';
export { BearerGuard, CurrentPrincipal, isAllowedAddress } from './bearer.guard';
export { bearerToken, KeyAuthenticator } from './key-authenticator';
export { blockListOf } from './known-keys.repository';
export type { Principal } from '../platform/routes/request-context';
export { RequireScope, RequireScopeFor, ScopeGuard } from './scope.guard';
