import type { Extension } from '../platform/extension/extension';
import { petsMigrations } from './migrations/pets.migrations';
import { PetsModule } from './pets.module';
import { petScopes } from './pets.scopes';

export const petsExtension: Extension = {
  name: 'pets',
  modules: [PetsModule],
  migrations: petsMigrations,
  scopes: Object.values(petScopes),
  tags: { pets: 'Animals of the store.' },
};
