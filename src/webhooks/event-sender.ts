import { createHmac, randomUUID } from 'node:crypto';
import type { Agent } from 'node:http';
import { Injectable } from '@nestjs/common';
import { printEvent, type StoredEvent } from '../events';
import { Clock } from '../time/clock';
import { SECOND_MS } from '../time/time';
import { AttemptsRepository } from './attempts.repository';
import type { WebhookEntity } from './webhook.entity';
import { type Outcome, ReceiverClient } from './receiver-client';

type SentEvent = Omit<StoredEvent, 'accountId'>;

/** Signs and sends events, and keeps the attempts. It changes nothing in the webhook. */
@Injectable()
export class EventSender {
  constructor(
    private readonly receivers: ReceiverClient,
    private readonly attempts: AttemptsRepository,
    private readonly clock: Clock,
  ) {}

  sendTest(webhook: WebhookEntity): Promise<Outcome> {
    const data = `{"id":${webhook.id},"status":"active"}`;
    const event = { id: 0n, type: 'webhook.test', createdAt: new Date(this.clock.now()), data };
    return this.send(webhook, event, undefined, `test_${randomUUID()}`);
  }

  /** Signs and sends an event. @param agent keeps the connection */
  async send(
    webhook: WebhookEntity,
    event: SentEvent,
    agent?: Agent,
    id = String(event.id),
  ): Promise<Outcome> {
    const at = new Date(this.clock.now());
    const begin = performance.now();
    // As listEvents prints it for a key without `orders:manage`.
    const body = printEvent(event);
    const timestamp = Math.floor(at.getTime() / SECOND_MS);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'animal-store',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': sign(webhook, at.getTime(), `${id}.${timestamp}.${body}`),
    };
    const outcome = await this.receivers.post(webhook.url, headers, body, agent);
    const durationMs = Math.round(performance.now() - begin);
    this.attempts.add({
      webhookId: webhook.id,
      eventId: event.id,
      type: event.type,
      at,
      durationMs,
      ...outcome,
    });
    return outcome;
  }
}

/** Signs a message by Standard Webhooks with each secret in force. */
function sign(webhook: WebhookEntity, now: number, message: string): string {
  const replaced = webhook.replacedSecrets.filter(([, until]) => Date.parse(until) > now);
  return [webhook.secret, ...replaced.map(([secret]) => Buffer.from(secret, 'base64'))]
    .map((secret) => `v1,${createHmac('sha256', secret).update(message).digest('base64')}`)
    .join(' ');
}
