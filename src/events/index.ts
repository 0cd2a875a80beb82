export { EVENT_TYPE } from './events.dto';
export { eventsExtension, EventsModule } from './events.extension';
export { EVENT_TYPES, EventsRepository, type EventType, NEWEST, type StoredEvent } from './events.repository';
