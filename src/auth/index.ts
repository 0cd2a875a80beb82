export { accountErrors } from './accounts/accounts.errors';
export { nameOfEnabled } from './accounts/accounts.repository';
export { AccountsService } from './accounts/accounts.service';
export * from './accounts/plans';
export * from './accounts/short-text';
export { AccountsModule, AdministrationModule, AuthModule, OwnKeyModule } from './auth.module';
export {
  expiredApiKey,
  insufficientScope,
  invalidApiKey,
  missingApiKey,
  revokedApiKey,
} from './guards/auth.errors';
export { Authenticator, type Identity, OWN_AUTHENTICATOR } from './guards/authenticator';
export { CurrentPrincipal } from './current-principal';
export { bearerToken, KeyAuthenticator } from './guards/key-authenticator';
export { AccessGuard, BearerGuard, RequireScopeFor } from './guards/access.guard';
export * from './keys/api-keys.service';
export { GRACE_HOURS, KEY_DAYS, MAX_ADDRESSES, MAX_GRACE_MS } from './keys/keys.dto';
export { prefixOf } from './keys/secret';
export type { Principal } from '../api/routes/request-context';
