import { Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';
import { PeriodicWork } from '../platform/runtime/periodic-work';
import { addScrapedGauge } from '../platform/runtime/scraped-gauge';
import { SECOND_MS } from '../platform/runtime/time';
import { EventsRepository } from './events.repository';

/** Events that readers do not see for longer are in the log. */
const MAX_HIDDEN_SECONDS = 60;

/** Watches the age of events that no reader sees, because an earlier transaction of the server is open (decision 35). */
@Injectable()
export class FeedHorizon extends PeriodicWork {
  private isHeldBack = false;

  constructor(
    private readonly events: EventsRepository,
    registry: Registry,
  ) {
    super('The check for events that readers do not see', 15 * SECOND_MS);
    const help = 'Age of the oldest event that readers do not see yet.';
    const read = async () => (await events.findHidden())?.seconds ?? 0;
    addScrapedGauge(registry, 'animal_store_events_hidden_seconds', help, read);
  }

  override async run(): Promise<void> {
    const hidden = await this.events.findHidden();
    const isLate = hidden !== undefined && hidden.seconds > MAX_HIDDEN_SECONDS;
    const holder = isLate ? await this.events.findHolder() : undefined;
    if (isLate && holder && !this.isHeldBack) {
      const begin = holder.since?.toISOString() ?? `before ${hidden.createdAt.toISOString()}`;
      this.logger.warn(
        `An open transaction has held back the feed and all webhooks for ${Math.round(hidden.seconds)} s: ${holder.name}, open since ${begin}. End it.`,
      );
    }
    this.isHeldBack = holder !== undefined;
  }
}
