export { blockListOf, isAllowedAddress } from './addresses';
export { expiredApiKey, insufficientScope, invalidApiKey, missingApiKey, revokedApiKey } from './auth.errors';
export { AuthModule } from './auth.module';
export { Authenticator, type Identity, OWN_AUTHENTICATOR } from './authenticator';
export { BearerGuard, CurrentPrincipal } from './bearer.guard';
export { bearerToken, KeyAuthenticator } from './key-authenticator';
export type { Principal } from '../platform/routes/request-context';
export { RequireScope, RequireScopeFor, ScopeGuard } from './scope.guard';
