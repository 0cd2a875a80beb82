import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { EventsRepository } from '../events';
import { Clock } from '../time/clock';
import { PeriodicWork } from '../time/periodic-work';
import { Semaphore } from '../database/semaphore';
import { DAY_MS, SECOND_MS } from '../time/time';
import { AttemptsRepository } from './attempts.repository';
import { MAX_WEBHOOKS, type WebhookEntity } from './webhook.entity';
import { EventSender } from './event-sender';
import { type Outcome, ReceiverClient } from './receiver-client';
import { MAX_PAUSE_MS, type WebhookValues, WebhooksRepository } from './webhooks.repository';

const TICK_MS = 500;
/** Deliveries share the event loop with the API, so those of a lane begin at this distance. */
const GAP_MS = 3;
/** All webhooks are looked at so often without a new event, and in between those that were due lately. */
const LOOK_MS = 30 * SECOND_MS;
const SLOW_MS = SECOND_MS;
/** How long a webhook with more events keeps its place. */
const TURN_MS = 2 * SECOND_MS;
const BATCH_SIZE = 20;
/** Connections of the pool that deliveries use, besides the shared ones of quick reads. */
const MAX_STATEMENTS = 2;
/** Pauses after failures: 5 s, 15 s, 45 s and so on, and a random part. */
const FIRST_PAUSE_MS = 5 * SECOND_MS;
const JITTER = 0.2;
/** A webhook that fails for so long is disabled. */
const MAX_FAILING_MS = 3 * DAY_MS;
/** How long a stop waits for running deliveries. */
const STOP_MS = 2 * SECOND_MS;
const GONE = 410;

/** Webhooks that share places. An account has at most MAX_WEBHOOKS of them, a twentieth or less. */
class Lane {
  readonly turns = new Set<Promise<void>>();
  private readonly starts = new Semaphore(1);
  private waiting = 0;

  constructor(private readonly places: number) {}

  /** The places, as many as begin before the next tick: a lease must not end in the queue. */
  get free(): number {
    return Math.max(0, Math.min(this.places - this.turns.size, Math.ceil(TICK_MS / GAP_MS) - this.waiting));
  }

  /** Waits until the next delivery may begin. */
  async next(): Promise<void> {
    this.waiting += 1;
    await this.starts.run(() => sleep(GAP_MS));
    this.waiting -= 1;
  }
}

/** The deliveries of a webhook, one after the other, by a connection that it keeps. */
interface Turn {
  readonly lane: Lane;
  readonly leased: WebhookEntity;
  readonly agent: Agent;
  /** By `performance.now()`. No delivery begins later. */
  readonly endsAt: number;
}

/** Delivers the events of the feed to the webhooks: each webhook by one instance at a time, and in order. */
@Injectable()
export class DeliveryWorker extends PeriodicWork {
  private readonly outcomes: Counter<'account' | 'outcome'>;
  private readonly statements = new Semaphore(MAX_STATEMENTS);
  private readonly fast = new Lane(40 * MAX_WEBHOOKS);
  /** Of receivers that failed last or took long. */
  private readonly hindered = new Lane(20 * MAX_WEBHOOKS);
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
  }

  override async run(): Promise<void> {
    await this.begin();
    await this.statements.run(() => this.attempts.flush());
  }

  /** Also waits for the deliveries that it begins, and delivers what is left after them. */
  override async runNow(): Promise<unknown> {
    this.known = { at: -Infinity };
    let error = await super.runNow();
    while (this.fast.turns.size + this.hindered.turns.size > 0) {
      await this.ended();
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
    await this.ended();
    await this.attempts
      .flush()
      .catch(() => this.logger.warn('The last attempts of webhooks were not written.'));
  }

  private ended(): Promise<unknown> {
    return Promise.all([...this.fast.turns, ...this.hindered.turns]);
  }

  private async begin(): Promise<void> {
    const free = [this.fast.free, this.hindered.free];
    const startedAt = performance.now();
    const isKnown = startedAt - this.known.at < LOOK_MS;
    const known = isKnown ? this.known.newest : undefined;
    const { webhooks, newest } = await this.statements.run(() =>
      this.webhooks.lease(this.now(), free, known),
    );
    for (const webhook of webhooks) {
      const lane = webhook.failures > 0 || webhook.isSlow ? this.hindered : this.fast;
      const turn: Promise<void> = this.take(lane, webhook).finally(() => lane.turns.delete(turn));
      lane.turns.add(turn);
    }
    // Without a free place others may wait.
    const isComplete = webhooks.length < Math.min(...free);
    this.known = { newest: isComplete ? newest : undefined, at: isKnown ? this.known.at : startedAt };
  }

  private async take(lane: Lane, leased: WebhookEntity): Promise<void> {
    const agent = this.receivers.agentFor(leased.url);
    try {
      await this.deliverSome({ lane, leased, agent, endsAt: performance.now() + TURN_MS }, leased.position);
    } catch (error) {
      // Another delivery begins when the lease ends.
      this.logger.warn(
        `A delivery of the webhook ${leased.id} is repeated: it cannot be sent or recorded. Cause: ${String(error)}`,
      );
    } finally {
      agent.destroy();
    }
  }

  /** Delivers the next events. At the end of its turn the webhook waits behind all others. */
  private async deliverSome(turn: Turn, position: bigint): Promise<void> {
    const { lane, leased, agent, endsAt } = turn;
    const { events, last } = await this.events.read(position, BATCH_SIZE, leased);
    // The retention has removed them, or the batch before had the last one.
    if (events.length === 0) {
      const webhook = await this.webhooks.findLeased(leased);
      // Events of a type that was added meanwhile were not read.
      const isRead = webhook && canContinue(webhook, leased);
      return this.giveBack(leased, isRead ? { position: last } : {});
    }
    for (const [at, event] of events.entries()) {
      if (!this.isStopping) await lane.next();
      // It may have changed while it waited.
      const webhook = await this.webhooks.findLeased(leased);
      if (this.isStopping || !webhook || !canContinue(webhook, leased)) return this.giveBack(leased);
      const sentAt = performance.now();
      const outcome: Outcome = await this.eventSender.send(webhook, event, agent);
      const isSlow = performance.now() - sentAt > SLOW_MS;
      // A stop aborts the request.
      if (outcome.error !== undefined)
        return this.isStopping ? this.giveBack(leased) : this.recordFailure(webhook, outcome);
      this.count(webhook, 'delivered');
      const isLast = at + 1 === events.length && events.length < BATCH_SIZE;
      const isOver = isLast || isSlow || performance.now() > endsAt;
      const now = this.now();
      const delivered = { position: event.id, lastDeliveryAt: now, isSlow, ...(isOver && { dueAt: now }) };
      const recovered = { failures: 0, failingSince: null, lastError: null };
      if (!(await this.update(leased, { ...delivered, ...recovered })) || isOver) return;
    }
    return this.deliverSome(turn, last);
  }

  private async giveBack(webhook: WebhookEntity, values: WebhookValues = {}): Promise<void> {
    await this.update(webhook, { ...values, dueAt: this.now() });
  }

  private update(webhook: WebhookEntity, values: WebhookValues): Promise<boolean> {
    return this.statements.run(() => this.webhooks.updateLeased(webhook, values));
  }

  private now(): Date {
    return new Date(this.clock.now());
  }

  private async recordFailure(webhook: WebhookEntity, { error: message, status }: Outcome): Promise<void> {
    const now = this.clock.now();
    const { id, account, failures, failingSince } = webhook;
    const since = failingSince ?? new Date(now);
    const lastAt = since.getTime() + MAX_FAILING_MS;
    const isOver = now >= lastAt;
    // A wrong clock must not disable a webhook: only its owner could make it active again.
    const hasPassed = () => this.statements.run(() => this.webhooks.hasPassed(new Date(lastAt)));
    const isLast = status === GONE || (isOver && (await hasPassed()));
    const pause = Math.min(FIRST_PAUSE_MS * 3 ** failures * (1 + JITTER * Math.random()), MAX_PAUSE_MS);
    const isRecorded = await this.update(webhook, {
      failures: failures + 1,
      failingSince: since,
      dueAt: new Date(isOver ? now + pause : Math.min(now + pause, lastAt)),
      lastError: message ?? null,
      ...(isLast && { disabledAt: new Date(now) }),
    });
    if (!isRecorded) return;
    this.count(webhook, isLast ? 'disabled' : 'failed');
    const subject = `The webhook ${id} of the account ${account}`;
    if (isLast) this.logger.warn(`${subject} is disabled. Last error: ${message}`);
    else if (failures === 0) this.logger.warn(`${subject} fails. The service retries. Error: ${message}`);
  }

  private count({ account }: WebhookEntity, outcome: string): void {
    this.outcomes.inc({ account: account ?? '', outcome });
  }
}

/** False if a change of the webhook ends its turn. */
function canContinue({ url, types, disabledAt, account }: WebhookEntity, begun: WebhookEntity): boolean {
  return !disabledAt && account !== null && url === begun.url && String(types) === String(begun.types);
}
