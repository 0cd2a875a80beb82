export { PetsModule } from './pets.module';
export { PetsService } from './pets.service';
