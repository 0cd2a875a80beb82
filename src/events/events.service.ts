import { Inject, Injectable } from '@nestjs/common';
import { AccountsService, type Principal } from '../auth';
import { CONFIG, type ConfigOf } from '../config/config';
import * as parsers from '../config/parsers';
import { validationFailed } from '../api/errors/common.errors';
import { Page, pageRequestOf } from '../api/lists/page';
import { Clock } from '../time/clock';
import { PeriodicWork } from '../time/periodic-work';
import { MINUTE_MS } from '../time/time';
import { EventTypeRegistry } from './event-type-registry';
import type { ListEventsQuery } from './events.dto';
import { eventErrors } from './events.errors';
import { EventsRepository, printEvent, type StoredEvent } from './events.repository';

export const eventSettings = {
  eventsRetentionDays: {
    variable: 'EVENTS_RETENTION_DAYS',
    defaultText: '30',
    parse: parsers.integer(4, 365),
    meaning: 'Days that events are kept, at least 4: deliveries to a webhook are retried for 3 days.',
  },
};

const ONE_START = 'Only one of cursor and from may be given';

@Injectable()
export class EventsService extends PeriodicWork {
  constructor(
    private readonly events: EventsRepository,
    private readonly types: EventTypeRegistry,
    private readonly accounts: AccountsService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: ConfigOf<typeof eventSettings>,
  ) {
    super('The upkeep of the event log', MINUTE_MS);
  }

  override async onModuleInit(): Promise<void> {
    // A change before it would have an id that readers have passed.
    await this.events.prepare();
    await super.onModuleInit();
  }

  /**
   * Lists a page of the events that the key may see. Each page has a next one, from which a reader continues.
   *
   * @throws ApiError `insufficient_scope`, `validation_failed`, `invalid_cursor`, `cursor_expired`
   */
  async list(principal: Principal, { from, ...query }: ListEventsQuery): Promise<Page<never>> {
    const types = this.types.requested(principal, query.type ?? null);
    const request = pageRequestOf('/events', query);
    if (from !== undefined && query.cursor !== undefined) throw validationFailed([ONE_START]);
    const after = request.after === undefined ? undefined : BigInt(request.after);
    // An empty list matches nothing: `from=now` is an empty page with a position.
    const filter = { ...principal, types: from === undefined ? types : [] };
    const { events, isKnown, last } = await this.events.read(after ?? 0n, request.limit, filter);
    if (after !== undefined && !isKnown) throw eventErrors.cursor_expired();
    // Any start has the link to the first page.
    const printed = await this.print(principal, events);
    return new Page({ ...request, after: request.after ?? from }, [], last, printed);
  }

  /** Removes events that are older than EVENTS_RETENTION_DAYS. */
  override async run(): Promise<void> {
    await this.events.prepare();
    const now = new Date(this.clock.now());
    const { eventsRetentionDays: days } = this.config;
    while (!this.isStopping && (await this.events.removeOld(days, now)));
  }

  /** Prints events as the key sees them: staff sees the names of the accounts. */
  private async print(principal: Principal, events: readonly StoredEvent[]): Promise<string> {
    const accountIdOf = ({ type, accountId }: StoredEvent) =>
      this.types.isOfAll(type, principal.scopes) ? accountId : null;
    const names = await this.accounts.namesOf(events.flatMap((event) => accountIdOf(event) ?? []));
    return `[${events.map((event) => printEvent(event, names.get(accountIdOf(event) ?? 0n))).join()}]`;
  }
}
