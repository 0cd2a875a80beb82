export { PET_STATUSES, type PetStatus } from './pet-status';
export { PetEvents } from './pet-listeners';
export { type PetHold, PetHolds } from './pet-holds';
export { ListPetsQuery, NewPet, type Pet, type PetUpdate } from './pets.dto';
export { petErrors } from './pets.errors';
export { petEvents } from './pets.events';
export { petScopes } from './pets.scopes';
export { PetsModule } from './pets.module';
export { PetsService } from './pets.service';
