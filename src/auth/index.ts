export { AuthChecks } from './auth.checks';
export { AuthModule } from './auth.module';
export { CurrentPrincipal } from './current-principal.decorator';
export { FallbackAuthGuard } from './fallback-auth.guard';
export type { Principal } from '../platform/http/request-context';
export { RequireScope } from './require-scope.decorator';
