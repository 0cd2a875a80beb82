import { Module } from '@nestjs/common';
import { type Extension, PetsModule, StoreOrdersModule } from 'animal-store';
import { AppointmentsController } from './appointments.controller';
import { AppointmentsService } from './appointments.service';
import { groomingScopes } from './grooming.scopes';
import { groomingSettings } from './grooming.settings';
import { GroomingAppointments1795300000000 } from './migrations/0001-appointments';

@Module({
  imports: [PetsModule, StoreOrdersModule],
  controllers: [AppointmentsController],
  providers: [AppointmentsService],
})
class GroomingModule {}

const name = 'grooming';

export const groomingExtension: Extension = {
  name,
  modules: [GroomingModule],
  migrations: [GroomingAppointments1795300000000],
  scopes: Object.values(groomingScopes),
  tags: { [name]: 'The appointments of animals. A key sees only those of its account.' },
  settings: groomingSettings,
  compatibility: '^1.0.0',
};
