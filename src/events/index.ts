export { EVENT_TYPES, EventTypeRegistry, type TypeFilter } from './event-type-registry';
export { eventScopes } from './events.controller';
export { EVENT_TYPE } from './events.dto';
export { Events } from './events';
export { EventsModule } from './events.module';
export { EventsRepository, firstAfter, NEWEST, printEvent, type StoredEvent } from './events.repository';
