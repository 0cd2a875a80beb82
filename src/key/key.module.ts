import { Module } from '@nestjs/common';
import { RateLimitModule } from '../rate-limit';
import { KeyController } from './key.controller';
import { KeyService } from './key.service';

@Module({ imports: [RateLimitModule], controllers: [KeyController], providers: [KeyService] })
export class KeyModule {}
