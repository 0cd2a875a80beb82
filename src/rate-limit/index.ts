export { RateLimitGuard } from './rate-limit.guard';
export { RateLimitModule } from './rate-limit.module';
