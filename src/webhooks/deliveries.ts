import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { EventsRepository, type StoredEvent } from '../events';
import { Clock } from '../platform/runtime/clock';
import { PeriodicWork } from '../platform/runtime/periodic-work';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../platform/runtime/time';
import type { WebhookEntity } from './webhook.entity';
import { DeliveryError, WebhookSender } from './webhook-sender';
import { WebhookSecrets } from './webhook-secrets';
import type { WebhookTest } from './webhooks.dto';
import { WebhooksRepository } from './webhooks.repository';

const TICK_MS = 500;
/** Deliveries at the same time. Those that failed before have places of their own: receivers that hang delay no others. */
const MAX_RUNNING = { healthy: 200, failing: 100 };
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

/** The feed has no `webhook.test`. */
type SentEvent = Omit<StoredEvent, 'accountId' | 'type'> & { readonly type: string };

/** Delivers the events of the feed to the webhooks: each webhook by one instance at a time, and in order. */
@Injectable()
export class Deliveries extends PeriodicWork {
  private readonly tasks = { healthy: new Set<Promise<void>>(), failing: new Set<Promise<void>>() };
  private readonly outcomes: Counter<'account' | 'outcome'>;

  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly events: EventsRepository,
    private readonly secrets: WebhookSecrets,
    private readonly sender: WebhookSender,
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

  /** Begins the deliveries that are due. */
  override async run(): Promise<void> {
    const { healthy, failing } = this.tasks;
    const now = this.clock.now();
    const lease = new Date(now + LEASE_MS);
    const claimed = await this.webhooks.claim(new Date(now), lease, {
      healthy: MAX_RUNNING.healthy - healthy.size,
      failing: MAX_RUNNING.failing - failing.size,
    });
    for (const { id, isFailing } of claimed) {
      const tasks = isFailing ? failing : healthy;
      const task = this.deliverAll(id, lease).finally(() => tasks.delete(task));
      tasks.add(task);
    }
  }

  /** Sends a `webhook.test`, without effect on the state of the webhook. */
  async test(webhook: WebhookEntity): Promise<WebhookTest> {
    const data = `{"id":${webhook.id},"status":"active"}`;
    const event = { id: 0n, type: 'webhook.test', createdAt: new Date(this.clock.now()), data };
    const failure = await this.send(webhook, event, `test_${randomUUID()}`);
    return { delivered: !failure, error: failure?.message ?? null };
  }

  /** No delivery begins after this. */
  override onModuleDestroy(): void {
    super.onModuleDestroy();
    setTimeout(() => this.sender.abort(), STOP_MS).unref();
  }

  override async onApplicationShutdown(): Promise<void> {
    await super.onApplicationShutdown();
    await Promise.all([...this.tasks.healthy, ...this.tasks.failing]);
  }

  private async deliverAll(id: bigint, lease: Date): Promise<void> {
    try {
      let webhook = await this.webhooks.find({ id, dueAt: lease });
      while (webhook) webhook = await this.deliverNext(webhook);
    } catch (error) {
      // Another delivery begins when the lease ends.
      this.logger.warn(
        `A delivery of the webhook ${id} is repeated: it cannot be recorded. Cause: ${String(error)}`,
      );
    }
  }

  /** Delivers the next event. @returns the webhook as it is then; null if it has no further event to deliver now */
  private async deliverNext(webhook: WebhookEntity): Promise<WebhookEntity | null> {
    const { id, position, account, disabledAt } = webhook;
    const isPaused = this.isStopping || disabledAt || account === null;
    const [event] = isPaused ? [] : (await this.events.read(position, 1, webhook)).events;
    const failure = event && (await this.send(webhook, event));
    const now = this.clock.now();
    // A stop aborts the request.
    if (!event || (failure && this.isStopping)) await this.webhooks.update(webhook, { dueAt: new Date(now) });
    else if (failure) await this.recordFailure(webhook, failure, now);
    else {
      const lease = new Date(now + LEASE_MS);
      const success = { position: event.id, attempts: 0, failingSince: null, lastError: null };
      await this.webhooks.update(webhook, { ...success, lastDeliveryAt: new Date(now), dueAt: lease });
      this.count(webhook, 'delivered');
      return this.webhooks.find({ id, dueAt: lease });
    }
    return null;
  }

  private async recordFailure(
    webhook: WebhookEntity,
    { message, status }: DeliveryError,
    now: number,
  ): Promise<void> {
    const { id, account, attempts, failingSince } = webhook;
    const since = failingSince ?? new Date(now);
    const lastAt = since.getTime() + MAX_FAILING_MS;
    const isLast = status === GONE || now >= lastAt;
    const pause = Math.min(FIRST_PAUSE_MS * 3 ** attempts * (1 + JITTER * Math.random()), MAX_PAUSE_MS);
    const isRecorded = await this.webhooks.update(webhook, {
      attempts: attempts + 1,
      failingSince: since,
      dueAt: new Date(Math.min(now + pause, lastAt)),
      lastError: message,
      ...(isLast && { disabledAt: new Date(now) }),
    });
    if (!isRecorded) return;
    this.count(webhook, isLast ? 'disabled' : 'failed');
    const subject = `The webhook ${id} of the account ${account}`;
    if (isLast) this.logger.warn(`${subject} is disabled. Last error: ${message}`);
    else if (attempts === 0) this.logger.warn(`${subject} fails. The service retries. Error: ${message}`);
  }

  private count({ account }: WebhookEntity, outcome: string): void {
    this.outcomes.inc({ account: account ?? '', outcome });
  }

  /** Signs and sends an event (Standard Webhooks). @returns why it was not delivered */
  private async send(
    webhook: WebhookEntity,
    event: SentEvent,
    id = String(event.id),
  ): Promise<DeliveryError | undefined> {
    const body = bodyOf(event);
    const now = this.clock.now();
    const timestamp = Math.floor(now / SECOND_MS);
    const signature = this.secrets.sign(webhook, now, `${id}.${timestamp}.${body}`);
    if (signature === '') return new DeliveryError('The secret cannot be decrypted. Rotate it.');
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'animal-store',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature,
    };
    return this.sender.post(webhook.url, headers, body);
  }
}

/** Prints an event as listEvents does for a key without `orders:manage`. */
function bodyOf({ id, type, createdAt, data }: SentEvent): string {
  return `{"id":${id},"type":"${type}","createdAt":"${createdAt.toISOString()}","data":${data}}`;
}
