export { FallbackRateLimitGuard } from './fallback-rate-limit.guard';
export { installLimitHeaders } from './install-limit-headers';
export { RateLimitCheck } from './rate-limit.check';
export { RateLimitModule } from './rate-limit.module';
export { RateLimitStore } from './rate-limit.store';
