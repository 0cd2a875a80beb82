import type { Extension } from '../platform/extension/extension';
import { Pets1795219200001 } from './migrations/0002-pets';
import { FindPets1795219200008 } from './migrations/0009-find-pets';
import { PetsOrder1795219200010 } from './migrations/0011-pets-order';
import { PetsModule } from './pets.module';
import { petScopes } from './pets.scopes';

export const petsExtension: Extension = {
  name: 'pets',
  modules: [PetsModule],
  migrations: [Pets1795219200001, FindPets1795219200008, PetsOrder1795219200010],
  scopes: Object.values(petScopes),
  tags: { pets: 'Animals of the store.' },
};
