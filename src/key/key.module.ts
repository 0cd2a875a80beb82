import { Module } from '@nestjs/common';
import { RateLimitModule } from '../rate-limit';
import { KeyController } from './key.controller';

@Module({ imports: [RateLimitModule], controllers: [KeyController] })
export class KeyModule {}
