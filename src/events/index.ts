export { EVENT_TYPE } from './events.dto';
export { eventsExtension, EventsModule } from './events.extension';
export { END, EVENT_TYPES, EventsRepository, type EventType, type StoredEvent } from './events.repository';
