export { RateLimitGuard } from './rate-limit.guard';
export { RateLimitModule } from './rate-limit.module';
export { RateLimitStore } from './rate-limit.store';
