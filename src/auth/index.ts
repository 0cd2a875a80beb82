export { accountErrors } from './accounts/accounts.errors';
export { nameOfEnabled } from './accounts/accounts.repository';
export { AccountsService, type Maker } from './accounts/accounts.service';
export * from './accounts/plans';
export * from './accounts/short-text';
export { AccountsModule } from './accounts.module';
export { AdministrationModule } from './operations/administration.module';
export { AuthModule } from './auth.module';
export {
  expiredApiKey,
  insufficientScope,
  invalidApiKey,
  missingApiKey,
  revokedApiKey,
} from './guards/auth.errors';
export { Authenticator, type Identity, OWN_AUTHENTICATOR } from './guards/authenticator';
export { BearerGuard, CurrentPrincipal } from './guards/bearer.guard';
export { bearerToken, KeyAuthenticator } from './guards/key-authenticator';
export { RequireScopeFor, ScopeGuard } from './guards/scope.guard';
export type { KeyFilter } from './keys/api-keys.repository';
export * from './keys/api-keys.service';
export { KeyModule } from './operations/key.module';
export { prefixOf } from './keys/secret';
export type { Principal } from '../api/routes/request-context';
