import { TypeOrmModule } from '@nestjs/typeorm';
import { StoreExtension } from '../platform/extension/extension';
import { petsMigrations } from './migrations/pets.migrations';
import { PetCountsController } from './pet-counts.controller';
import { PetCountsRepository } from './pet-counts.repository';
import { PetCountsService } from './pet-counts.service';
import { PetEvents } from './pet-listeners';
import { PetHolds } from './pet-holds';
import { PetEntity } from './pet.entity';
import { PetsController } from './pets.controller';
import { PetsRepository } from './pets.repository';
import { petEvents } from './pets.events';
import { petScopes } from './pets.scopes';
import { PetsService } from './pets.service';

@StoreExtension({
  name: 'pets',
  migrations: petsMigrations,
  scopes: Object.values(petScopes),
  events: petEvents,
  tags: { pets: 'Animals of the store.' },
  imports: [TypeOrmModule.forFeature([PetEntity])],
  controllers: [PetsController, PetCountsController],
  providers: [PetsRepository, PetsService, PetEvents, PetHolds, PetCountsRepository, PetCountsService],
  exports: [PetsService, PetEvents, PetHolds],
})
export class PetsModule {}
