import { PetsModule, StoreExtension, StoreOrdersModule } from 'animal-store';
import { AppointmentsController } from './appointments.controller';
import { GroomingAppointment } from './appointments.dto';
import { AppointmentsService } from './appointments.service';
import { groomingScopes } from './grooming.scopes';
import { groomingSettings } from './grooming.settings';
import { GroomingAppointments1795300000000 } from './migrations/0001-appointments';

const name = 'grooming';

@StoreExtension({
  name,
  migrations: [GroomingAppointments1795300000000],
  scopes: Object.values(groomingScopes),
  events: { 'grooming.booked': { data: GroomingAppointment, scope: groomingScopes.read } },
  tags: { [name]: 'The appointments of animals. A key sees only those of its account.' },
  settings: groomingSettings,
  compatibility: '^2.0.0',
  imports: [PetsModule, StoreOrdersModule],
  controllers: [AppointmentsController],
  providers: [AppointmentsService],
})
export class GroomingModule {}
