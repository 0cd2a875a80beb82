import { StoreExtension } from '../../api/extension/extension';
import { RateLimitModule } from '../../rate-limit';
import { KeyController } from './key.controller';

@StoreExtension({
  name: 'key',
  tags: { key: 'The API key of the request: what it may do, and how much is left.' },
  imports: [RateLimitModule],
  controllers: [KeyController],
})
export class KeyModule {}
