import { TypeOrmModule } from '@nestjs/typeorm';
import { type EventTypes, StoreExtension } from '../api/extension/extension';
import * as migrations from './migrations/pets.migrations';
import { PetCountsController } from './pet-counts.controller';
import { PetCountsRepository } from './pet-counts.repository';
import { PetHolds } from './pet-holds';
import { PetHooks } from './pet-hooks';
import { PetEntity } from './pet.entity';
import { PetsController } from './pets.controller';
import { Pet } from './pets.dto';
import { PetsRepository } from './pets.repository';
import { petScopes } from './pets.scopes';
import { PetsService } from './pets.service';

const facts = { data: Pet, scope: petScopes.read, isShared: true } as const;

/** The events that the triggers of the table write. */
export const petEventTypes = {
  'pet.created': facts,
  'pet.updated': facts,
  'pet.deleted': facts,
} satisfies EventTypes;

@StoreExtension({
  name: 'pets',
  migrations: Object.values(migrations),
  scopes: Object.values(petScopes),
  events: petEventTypes,
  tags: { pets: 'Animals of the store.' },
  imports: [TypeOrmModule.forFeature([PetEntity])],
  controllers: [PetsController, PetCountsController],
  providers: [PetsRepository, PetsService, PetHooks, PetHolds, PetCountsRepository],
  exports: [PetsService, PetHooks, PetHolds],
})
export class PetsModule {}
