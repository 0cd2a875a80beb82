import type { Agent } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { EventsRepository } from '../events';
import { Clock } from '../platform/runtime/clock';
import { PeriodicWork } from '../platform/runtime/periodic-work';
import { addScrapedGauge } from '../platform/runtime/scraped-gauge';
import { Semaphore } from '../platform/runtime/semaphore';
import { DAY_MS, HOUR_MS, MAX_CLOCK_DIFFERENCE_MS, SECOND_MS } from '../platform/runtime/time';
import { AttemptsRepository } from './attempts.repository';
import { Pace } from './pace';
import { MAX_WEBHOOKS, type WebhookEntity } from './webhook.entity';
import { EventSender } from './event-sender';
import { type Outcome, ReceiverClient } from './receiver-client';
import { type Lane, type Waiting, type WebhookValues, WebhooksRepository } from './webhooks.repository';

const TICK_MS = 500;
/**
 * Deliveries at the same time. Receivers that fail or take long have places of their own. An account has at most
 * MAX_WEBHOOKS of them, a tenth of each lane or less.
 */
const PLACES: Readonly<Record<Lane, number>> = {
  fast: 20 * MAX_WEBHOOKS,
  slow: 10 * MAX_WEBHOOKS,
  failing: 10 * MAX_WEBHOOKS,
};
/** Also with deliveries that were taken for fast ones. */
const MAX_TURNS = 50 * MAX_WEBHOOKS;
const SLOW_MS = SECOND_MS;
/** No delivery of a turn begins later. */
const TURN_MS = 2 * SECOND_MS;
/** Events that a turn reads. If there are as many, the last one is left: it tells how long the webhook waits. */
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
  readonly lane: Lane;
  /** When the running request began, by performance.now(). */
  sentAt?: number | undefined;
}

/** Delivers the events of the feed to the webhooks: each webhook by one instance at a time, and in order. */
@Injectable()
export class DeliveryWorker extends PeriodicWork {
  private readonly turns = new Map<Turn, Promise<void>>();
  private readonly outcomes: Counter<'account' | 'outcome'>;
  private readonly statements = new Semaphore(MAX_STATEMENTS);
  private readonly pace = new Pace();

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
    while (await this.begin()) await this.statements.run(() => this.webhooks.wake());
    await this.statements.run(() => this.attempts.flush());
  }

  /** Also waits for the deliveries that it begins, and delivers what is left after them. */
  override async runNow(): Promise<unknown> {
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

  /** Leases webhooks, as many as places are free. @returns true if idle ones may have new events */
  private async begin(): Promise<boolean> {
    const free = { ...PLACES };
    for (const { lane, sentAt } of this.turns.keys()) {
      free[lane === 'fast' && performance.now() - Number(sentAt) > SLOW_MS ? 'slow' : lane] -= 1;
    }
    // As many as begin before the next tick, so that a turn delivers more than one event.
    const fast = Math.min(free.fast, this.pace.room(TICK_MS), MAX_TURNS - this.turns.size);
    const found = await this.statements.run(() => {
      const now = this.clock.now();
      const leases = new Date(now + LEASE_MS + MAX_CLOCK_DIFFERENCE_MS);
      const pauses = new Date(now + MAX_PAUSE_MS + MAX_CLOCK_DIFFERENCE_MS);
      return this.webhooks.lease(new Date(now), new Date(now + LEASE_MS), [
        ['fast', Math.max(0, fast), leases],
        ['slow', Math.max(0, free.slow), leases],
        ['failing', free.failing, pauses],
      ]);
    });
    for (const webhook of found.webhooks) {
      const turn: Turn = { lane: webhook.attempts > 0 ? 'failing' : webhook.isSlow ? 'slow' : 'fast' };
      this.turns.set(
        turn,
        this.take(turn, webhook).finally(() => this.turns.delete(turn)),
      );
    }
    return found.hasNew && !this.isStopping;
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
  private async deliverSome(turn: Turn, leased: WebhookEntity, agent: Agent): Promise<void> {
    const { position, waitingSince } = leased;
    const { events, last } = await this.statements.run(() => this.events.read(position, MAX_EVENTS, leased));
    const since = events[0]?.createdAt;
    if (!since) await this.statements.run(() => this.webhooks.finish(leased, last, this.now()));
    // It is known already, unless the webhook is new or events were removed.
    else if (since.getTime() !== waitingSince?.getTime()) await this.update(leased, { waitingSince: since });
    const endsAt = performance.now() + TURN_MS;
    let webhook: WebhookEntity | undefined = leased;
    for (const [at, event] of events.entries()) {
      if (!this.isStopping) await this.pace.next(turn.lane);
      if (this.isStopping || !canContinue(webhook, leased)) return this.giveBack(webhook);
      turn.sentAt = performance.now();
      const outcome: Outcome = await this.eventSender.send(webhook, event, { agent });
      const delivered = { at: this.now(), isSlow: performance.now() - turn.sentAt > SLOW_MS };
      turn.sentAt = undefined;
      if (outcome.isOwn) throw new Error(outcome.error);
      // A stop aborts the request.
      if (outcome.error !== undefined)
        return this.isStopping ? this.giveBack(webhook) : this.recordFailure(webhook, outcome);
      this.count(webhook, 'delivered');
      const next = events[at + 1];
      const isOver = at + 2 === MAX_EVENTS || performance.now() > endsAt;
      const current: WebhookEntity = webhook;
      if (!next)
        return this.statements.run(() => this.webhooks.finish(current, last, delivered.at, delivered));
      webhook = await this.statements.run(() =>
        this.webhooks.advance(current, event.id, next.createdAt, delivered, isOver),
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
