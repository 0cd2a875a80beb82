import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { EventsRepository } from '../events';
import { Clock } from '../platform/runtime/clock';
import { PeriodicWork } from '../platform/runtime/periodic-work';
import { addScrapedGauge } from '../platform/runtime/scraped-gauge';
import { Semaphore } from '../platform/runtime/semaphore';
import { DAY_MS, HOUR_MS, MAX_CLOCK_DIFFERENCE_MS, SECOND_MS } from '../platform/runtime/time';
import { AttemptsRepository } from './attempts.repository';
import { MAX_WEBHOOKS, type WebhookEntity } from './webhook.entity';
import { EventSender } from './event-sender';
import { type Outcome, ReceiverClient } from './receiver-client';
import { type Waiting, type WebhookValues, WebhooksRepository } from './webhooks.repository';

const TICK_MS = 500;
/** Deliveries at the same time. An account has at most MAX_WEBHOOKS of them, a tenth of each lane or less. */
const FAST_PLACES = 20 * MAX_WEBHOOKS;
/** Of receivers that failed last or took long. */
const HINDERED_PLACES = 10 * MAX_WEBHOOKS;
/** Deliveries share the event loop with the API, so those of a lane begin at this distance. */
const GAP_MS = 3;
/** All webhooks are looked at so often, and in between those that were due lately. */
const LOOK_MS = 5 * SECOND_MS;
const LATELY_MS = 2 * LOOK_MS;
const SLOW_MS = SECOND_MS;
/** No delivery of a turn begins later. */
const TURN_MS = 2 * SECOND_MS;
/** Events of a turn. */
const MAX_EVENTS = 20;
/** Connections of the pool that deliveries use. */
const MAX_STATEMENTS = 2;
/** Pauses after failures: 5 s, 15 s, 45 s and so on, and a random part. */
const FIRST_PAUSE_MS = 5 * SECOND_MS;
const MAX_PAUSE_MS = 8 * HOUR_MS;
const JITTER = 0.2;
/** A webhook that fails for so long is disabled. */
const MAX_FAILING_MS = 3 * DAY_MS;
/** How long a stop waits for running deliveries. */
const STOP_MS = 2 * SECOND_MS;
/** The longest exchange, the waits for the database, and a difference between the clocks of instances. */
const LEASE_MS = 30 * SECOND_MS;
const GONE = 410;

/** A webhook that delivers. */
interface Turn {
  readonly isHindered: boolean;
}

/** Delivers the events of the feed to the webhooks: each webhook by one instance at a time, and in order. */
@Injectable()
export class DeliveryWorker extends PeriodicWork {
  private readonly turns = new Map<Turn, Promise<void>>();
  private readonly outcomes: Counter<'account' | 'outcome'>;
  private readonly statements = new Semaphore(MAX_STATEMENTS);
  private readonly lanes = { fast: new Semaphore(1), hindered: new Semaphore(1) };
  /** The newest event for which all webhooks were looked at, and when. */
  private known: { newest?: bigint | undefined; at: number } = { at: -Infinity };

  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly attempts: AttemptsRepository,
    private readonly events: EventsRepository,
    private readonly eventSender: EventSender,
    private readonly receivers: ReceiverClient,
    private readonly clock: Clock,
    registry: Registry,
  ) {
    super('The delivery of events to webhooks', TICK_MS);
    this.outcomes = new Counter({
      name: 'animal_store_webhook_deliveries_total',
      help: 'Deliveries of events to webhooks by outcome: delivered, failed, or disabled (failed for the last time).',
      labelNames: ['account', 'outcome'],
      registers: [registry],
    });
    this.gauge('s_waiting', 'Webhooks with undelivered events, without disabled ones.', 'count', registry);
    this.gauge('_oldest_event_seconds', 'Age of the oldest event of these webhooks.', 'seconds', registry);
  }

  override async run(): Promise<void> {
    await this.begin();
    await this.statements.run(() => this.attempts.flush());
  }

  /** Also waits for the deliveries that it begins, and delivers what is left after them. */
  override async runNow(): Promise<unknown> {
    this.known = { at: -Infinity };
    let error = await super.runNow();
    while (this.turns.size > 0) {
      await Promise.all(this.turns.values());
      // The lease of a delivery that begins during a stop might not end with it.
      if (!this.isStopping) error = (await super.runNow()) ?? error;
    }
    return error;
  }

  /** No delivery begins after this. */
  override onModuleDestroy(): void {
    super.onModuleDestroy();
    setTimeout(() => this.receivers.abort(), STOP_MS).unref();
  }

  override async onApplicationShutdown(): Promise<void> {
    await super.onApplicationShutdown();
    await Promise.all(this.turns.values());
    await this.attempts
      .flush()
      .catch(() => this.logger.warn('The last attempts of webhooks were not written.'));
  }

  /** Leases webhooks, as many as places are free. */
  private async begin(): Promise<void> {
    const taken = [...this.turns.keys()].filter(({ isHindered }) => isHindered).length;
    const fast = Math.max(0, FAST_PLACES - (this.turns.size - taken));
    const hindered = Math.max(0, HINDERED_PLACES - taken);
    const startedAt = performance.now();
    const isKnown = startedAt - this.known.at < LOOK_MS;
    const { webhooks, newest } = await this.statements.run(() => {
      const now = this.clock.now();
      const latest = (longestMs: number) => new Date(now + longestMs + MAX_CLOCK_DIFFERENCE_MS);
      return this.webhooks.lease(
        new Date(now),
        new Date(now + LEASE_MS),
        [
          [false, fast, latest(LEASE_MS)],
          [true, hindered, latest(MAX_PAUSE_MS)],
        ],
        [isKnown ? this.known.newest : undefined, new Date(now - LATELY_MS)],
      );
    });
    const turns = webhooks.map((webhook) => ({
      webhook,
      isHindered: webhook.attempts > 0 || webhook.isSlow,
    }));
    const count = turns.filter(({ isHindered }) => isHindered).length;
    // Without a free place others may wait.
    const isComplete = count < hindered && turns.length - count < fast;
    this.known = { newest: isComplete ? newest : undefined, at: isKnown ? this.known.at : startedAt };
    for (const { webhook, isHindered } of turns) {
      const turn: Turn = { isHindered };
      this.turns.set(
        turn,
        this.take(turn, webhook).finally(() => this.turns.delete(turn)),
      );
    }
  }

  private async take(turn: Turn, webhook: WebhookEntity): Promise<void> {
    const agent = this.receivers.agentFor(webhook.url);
    try {
      await this.deliverSome(turn, webhook, agent);
    } catch (error) {
      // Another delivery begins when the lease ends.
      this.logger.warn(
        `A delivery of the webhook ${webhook.id} is repeated: it cannot be sent or recorded. Cause: ${String(error)}`,
      );
    } finally {
      agent.destroy();
    }
  }

  /** Delivers the next events for about `TURN_MS`. Then the webhook waits behind all others. */
  private async deliverSome({ isHindered }: Turn, leased: WebhookEntity, agent: Agent): Promise<void> {
    const { position } = leased;
    const { events, last } = await this.statements.run(() => this.events.read(position, MAX_EVENTS, leased));
    // The retention has removed them.
    if (events.length === 0) await this.update(leased, { position: last, dueAt: this.now() });
    const endsAt = performance.now() + TURN_MS;
    let webhook: WebhookEntity | undefined = leased;
    for (const [at, event] of events.entries()) {
      if (!this.isStopping) await this.lanes[isHindered ? 'hindered' : 'fast'].run(() => sleep(GAP_MS));
      if (this.isStopping || !canContinue(webhook, leased)) return this.giveBack(webhook);
      const sentAt = performance.now();
      const outcome: Outcome = await this.eventSender.send(webhook, event, { agent });
      const isSlow = performance.now() - sentAt > SLOW_MS;
      if (outcome.isOwn) throw new Error(outcome.error);
      // A stop aborts the request.
      if (outcome.error !== undefined)
        return this.isStopping ? this.giveBack(webhook) : this.recordFailure(webhook, outcome);
      this.count(webhook, 'delivered');
      const isLast = at + 1 === events.length;
      const reached = isLast && at + 1 < MAX_EVENTS ? last : event.id;
      const isOver = isLast || isSlow || performance.now() > endsAt;
      const current: WebhookEntity = webhook;
      webhook = await this.statements.run(() =>
        this.webhooks.advance(current, reached, { at: this.now(), isSlow }, isOver),
      );
      if (!webhook || isOver) return;
    }
  }

  private async giveBack(webhook: WebhookEntity): Promise<void> {
    await this.update(webhook, { dueAt: this.now() });
  }

  private update(webhook: WebhookEntity, values: WebhookValues): Promise<boolean> {
    return this.statements.run(() => this.webhooks.updateLeased(webhook, values));
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  private async recordFailure(webhook: WebhookEntity, { error: message, status }: Outcome): Promise<void> {
    const now = this.clock.now();
    const { id, account, attempts, failingSince } = webhook;
    const since = failingSince ?? new Date(now);
    const lastAt = since.getTime() + MAX_FAILING_MS;
    const isOver = now >= lastAt;
    // A wrong clock must not disable a webhook: only its owner could make it active again.
    const hasPassed = () => this.statements.run(() => this.webhooks.hasPassed(new Date(lastAt)));
    const isLast = status === GONE || (isOver && (await hasPassed()));
    const pause = Math.min(FIRST_PAUSE_MS * 3 ** attempts * (1 + JITTER * Math.random()), MAX_PAUSE_MS);
    const isRecorded = await this.update(webhook, {
      attempts: attempts + 1,
      failingSince: since,
      dueAt: new Date(isOver ? now + pause : Math.min(now + pause, lastAt)),
      lastError: message ?? null,
      ...(isLast && { disabledAt: new Date(now) }),
    });
    if (!isRecorded) return;
    this.count(webhook, isLast ? 'disabled' : 'failed');
    const subject = `The webhook ${id} of the account ${account}`;
    if (isLast) this.logger.warn(`${subject} is disabled. Last error: ${message}`);
    else if (attempts === 0) this.logger.warn(`${subject} fails. The service retries. Error: ${message}`);
  }

  private gauge(name: string, help: string, member: keyof Waiting, registry: Registry): void {
    const read = async () => (await this.webhooks.waiting())?.[member];
    addScrapedGauge(registry, `animal_store_webhook${name}`, help, read);
  }

  private count({ account }: WebhookEntity, outcome: string): void {
    this.outcomes.inc({ account: account ?? '', outcome });
  }
}

/** False if a change of the webhook ends its turn. */
function canContinue({ url, types, disabledAt, account }: WebhookEntity, begun: WebhookEntity): boolean {
  return !disabledAt && account !== null && url === begun.url && String(types) === String(begun.types);
}
