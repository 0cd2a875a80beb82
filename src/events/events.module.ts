import { Global } from '@nestjs/common';
import { AccountsModule } from '../auth';
import { StoreExtension } from '../api/extension/extension';
import { EventTypeRegistry } from './event-type-registry';
import { Events } from './events';
import { EventsController, eventScopes } from './events.controller';
import { EventsRepository } from './events.repository';
import { eventSettings, EventsService } from './events.service';
import * as migrations from './migrations/events.migrations';

/** Extensions need no import to write events. */
@Global()
@StoreExtension({
  name: 'events',
  migrations: Object.values(migrations),
  scopes: Object.values(eventScopes),
  tags: { events: 'What happened to animals and orders, for readers that follow the changes.' },
  settings: eventSettings,
  imports: [AccountsModule],
  controllers: [EventsController],
  providers: [EventTypeRegistry, Events, EventsRepository, EventsService],
  exports: [EventTypeRegistry, Events, EventsRepository],
})
export class EventsModule {}
