export { EVENT_TYPES, type EventTypes, readableTypes, requestedTypes } from './event-types';
export { EVENT_TYPE } from './events.dto';
export type { eventSettings } from './events.settings';
export { EventsModule } from './events.module';
export { EventsRepository, NEWEST, type StoredEvent } from './events.repository';
