export { EVENT_TYPES, StoreEvents, type TypeFilter } from './event-types';
export { Events } from './events';
export { EVENT_TYPE } from './events.dto';
export type { eventSettings } from './events.settings';
export { EventsModule } from './events.module';
export { EventsRepository, NEWEST, type StoredEvent } from './events.repository';
