import type { Extension } from '../platform/extension/extension';
import { KeyModule } from './key.module';

export const keyExtension: Extension = {
  name: 'key',
  modules: [KeyModule],
  tags: { key: 'The API key of the request: what it may do, and how much is left.' },
};
