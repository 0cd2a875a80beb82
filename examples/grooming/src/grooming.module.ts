import { Module } from '@nestjs/common';
import { Links, PetsModule, StoreOrdersModule } from 'animal-store';
import { AppointmentsController } from './appointments.controller';
import { AppointmentsRepository } from './appointments.repository';
import { AppointmentsService } from './appointments.service';
import { SoldAnimals } from './sold-animals';

@Module({
  imports: [PetsModule, StoreOrdersModule],
  controllers: [AppointmentsController],
  providers: [AppointmentsRepository, AppointmentsService, Links, SoldAnimals],
})
export class GroomingModule {}
