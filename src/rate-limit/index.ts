export { Bans } from './bans';
export { RateLimitModule } from './rate-limit.module';
export { RateLimitStore, type Standing, type Usage } from './rate-limit.store';
export { RouteLimitGuard } from './route-limit.guard';
export { CurrentStanding, ThrottleGuard } from './throttle.guard';
