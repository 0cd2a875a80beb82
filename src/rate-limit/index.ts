export { banPolicyOf, isOff } from './bans';
export { CurrentStanding } from './current-standing.decorator';
export { FallbackRateLimitGuard } from './fallback-rate-limit.guard';
export { installLimitHeaders } from './install-limit-headers';
export { RateLimitCheck } from './rate-limit.check';
export { RateLimitModule } from './rate-limit.module';
export { RateLimitStore, type Standing, type Usage } from './rate-limit.store';
export { RouteLimitGuard } from './route-limit.guard';
export { RouteLimits } from './route-limits';
