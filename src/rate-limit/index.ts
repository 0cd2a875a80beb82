export { type BanPolicy, banPolicyOf, isOff } from './bans';
export { CurrentStanding } from './current-standing.decorator';
export { FallbackRateLimitGuard } from './fallback-rate-limit.guard';
export { installLimitHeaders } from './install-limit-headers';
export { KeyHistories } from './key-histories';
export { RateLimitCheck } from './rate-limit.check';
export { RateLimitModule } from './rate-limit.module';
export {
  type Charge,
  type Decision,
  OWN_RATE_LIMIT_STORE,
  type OwnerLimits,
  RateLimitStore,
  type Standing,
  type Usage,
  type Windows,
} from './rate-limit.store';
export { RouteLimitGuard } from './route-limit.guard';
export { RouteLimits } from './route-limits';
