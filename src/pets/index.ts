export { PET_STATUSES, type PetStatus } from './pet-status';
export { PetEvents, type PetHold, PetHolds } from './pet-hooks';
export { ListPetsQuery, NewPet, type Pet } from './pets.dto';
export { petErrors } from './pets.errors';
export { petScopes } from './pets.scopes';
export { petEvents, PetsModule } from './pets.module';
export { NEW_PET_COLUMNS } from './pet.entity';
export { SELECTED_PET_COLUMNS } from './pets.repository';
export { PetsService } from './pets.service';
