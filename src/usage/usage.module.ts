import { Module } from '@nestjs/common';
import { AccountsModule } from '../auth';
import { StoreExtension } from '../api/extension/extension';
import { RateLimitModule } from '../rate-limit';
import * as migrations from './migrations/usage.migrations';
import { UsageRecorder } from './usage-recorder';
import { UsageController } from './usage.controller';
import { UsageRepository } from './usage.repository';
import { UsageService } from './usage.service';

/** Reads the usage, for HTTP and for the command line. */
@Module({
  imports: [AccountsModule],
  controllers: [UsageController],
  providers: [UsageRepository, UsageService],
  exports: [UsageRepository, UsageService],
})
export class UsageModule {}

@StoreExtension({
  name: 'usage',
  migrations: Object.values(migrations),
  tags: { usage: 'How many requests each key made, by day.' },
  imports: [UsageModule, RateLimitModule],
  providers: [UsageRecorder],
})
export class UsageRecordingModule {}
