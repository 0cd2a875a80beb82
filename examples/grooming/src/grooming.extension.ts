import type { Extension } from 'animal-store';
import { GroomingModule } from './grooming.module';
import { groomingScopes } from './grooming.scopes';
import { groomingSettings } from './grooming.settings';
import { Appointments1795300000000 } from './migrations/0001-appointments';

export const grooming: Extension = {
  name: 'grooming',
  modules: [GroomingModule],
  migrations: [Appointments1795300000000],
  scopes: Object.values(groomingScopes),
  tags: { grooming: 'Appointments at the groomer. A key sees only the appointments of its account.' },
  settings: groomingSettings,
  compatibility: '^1.0.0',
};
