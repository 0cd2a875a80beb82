export { UsageModule, UsageRecordingModule } from './usage.module';
export { UsageService } from './usage.service';
