export { UsageModule, UsageRecordingModule } from './usage.module';
export { UsageService } from './usage.service';
export type { UsageQuery } from './usage.dto';
