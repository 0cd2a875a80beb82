export { eventsExtension, EventsModule } from './events.extension';
export { EVENT_TYPES, EventsRepository, type EventType, type StoredEvent } from './events.repository';
