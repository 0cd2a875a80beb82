/** The public API of `animal-store/replace`, for a team's own authenticator: docs/extending.md. */

export {
  Authenticator,
  AuthModule,
  bearerToken,
  expiredApiKey,
  type Identity,
  insufficientScope,
  invalidApiKey,
  KeyAuthenticator,
  missingApiKey,
  OWN_AUTHENTICATOR,
  revokedApiKey,
} from './auth';
export { AccountsModule, AccountsService, limitsOf, type Plan } from './auth';
