import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PetEntity } from './pet.entity';
import { PetEvents } from './pet-events';
import { PetHolds } from './pet-holds';
import { PetsController } from './pets.controller';
import { PetsRepository } from './pets.repository';
import { PetsService } from './pets.service';

@Module({
  imports: [TypeOrmModule.forFeature([PetEntity])],
  controllers: [PetsController],
  providers: [PetsRepository, PetsService, PetEvents, PetHolds],
  exports: [PetsService, PetEvents, PetHolds],
})
export class PetsModule {}
