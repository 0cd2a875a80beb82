export { RateLimitModule } from './rate-limit.module';
export { COUNTED, RateLimitStore, type Usage } from './rate-limit.store';
export { ThrottleGuard } from './throttle.guard';
