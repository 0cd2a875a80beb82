export { RateLimitModule } from './rate-limit.module';
export { COUNTED, RateLimitStore, type Window } from './rate-limit.store';
export { ThrottleGuard } from './throttle.guard';
