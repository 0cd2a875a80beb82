import { Module } from '@nestjs/common';
import type { Extension } from '../platform/extension/extension';
import { RateLimitModule } from '../rate-limit';
import { KeyController } from './key.controller';

@Module({ imports: [RateLimitModule], controllers: [KeyController] })
class KeyModule {}

export const keyExtension: Extension = {
  name: 'key',
  modules: [KeyModule],
  tags: { key: 'The API key of the request: what it may do, and how much is left.' },
};
