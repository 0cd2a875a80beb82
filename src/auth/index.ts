export { AccountsRepository } from './accounts.repository';
export type { ListedKey } from './api-keys.repository';
export { AccountsError, ApiKeysService, type IssuedKey, type KeyRequest } from './api-keys.service';
export { AuthGuard } from './auth.guard';
export { AuthModule } from './auth.module';
export { isPlan, type Limits, limitsOf, PLANS, type Plan, type PlanChoice } from './plans';
export type { Principal } from './principal';
export { Public, RequireScope } from './require-scope.decorator';
export { isScope, type Scope, SCOPES } from './scopes';
