export { Bans } from './bans';
export { Limits } from './limits';
export { RateLimitModule } from './rate-limit.module';
export { RateLimitStore, type Standing, type Usage } from './rate-limit.store';
export { RouteLimitGuard } from './route-limit.guard';
export { CurrentStanding, ThrottleGuard } from './throttle.guard';
