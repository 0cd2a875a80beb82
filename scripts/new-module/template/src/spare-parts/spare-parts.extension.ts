import type { Extension } from '../platform/extension/extension';
import { SpareParts1700000000000 } from './migrations/0000-spare-parts';
import { SparePartsModule } from './spare-parts.module';
import { sparePartScopes } from './spare-parts.scopes';

export const sparePartsExtension: Extension = {
  name: 'spare-parts',
  modules: [SparePartsModule],
  migrations: [SpareParts1700000000000],
  scopes: Object.values(sparePartScopes),
  tags: { 'spare parts': 'The spare parts of the store.' },
};
