import { Controller, Get, Query } from '@nestjs/common';
import { CurrentPrincipal, type Principal } from '../auth';
import { Operation } from '../api/operation/operation.decorator';
import { defineScopes } from '../api/extension/extension';
import { Event, ListEventsQuery } from './events.dto';
import { eventErrors } from './events.errors';
import { EventsService } from './events.service';

export const eventScopes = defineScopes('events', 'read');

@Controller('events')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  @Get()
  @Operation({
    id: 'listEvents',
    summary: 'List events',
    description:
      'Lists the changes of animals, if the key has `pets:read`, and of the orders of its account, if it has `orders:read`, in the order in which they happened; with the scope `orders:manage` the changes of all orders. Each page has a next one: to learn of later changes, request it again.',
    scope: eventScopes.read,
    returns: [200, [Event], 'A page of events. `Link` has the next page, also on the last one.'],
    rejects: [eventErrors.cursor_expired],
  })
  listEvents(@CurrentPrincipal() principal: Principal, @Query() query: ListEventsQuery) {
    return this.events.list(principal, query);
  }
}
