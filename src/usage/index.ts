export { usageExtension, UsageModule } from './usage.extension';
export { UsageService } from './usage.service';
