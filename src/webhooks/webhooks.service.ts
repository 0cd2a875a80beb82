import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AccountsService, type Principal } from '../auth';
import { EventsRepository, EventTypeRegistry } from '../events';
import { recordAudit } from '../database/audit';
import { Sql } from '../database/sql';
import { isInForce, type Precondition } from '../api/entity-tags/entity-tag';
import { validationFailed } from '../api/errors/common.errors';
import { ADMIN_SCOPE } from '../api/extension/extension';
import type { Page } from '../api/lists/page';
import { Clock } from '../time/clock';
import { SECOND_MS } from '../time/time';
import { AttemptsRepository } from './attempts.repository';
import { EventSender } from './event-sender';
import type { WebhookEntity } from './webhook.entity';
import { type Outcome, ReceiverClient } from './receiver-client';
import type * as dto from './webhooks.dto';
import { webhookErrors } from './webhooks.errors';
import {
  type ShownColumns,
  webhookPages,
  WebhooksRepository,
  type WebhookValues,
} from './webhooks.repository';

const SECRET_BYTES = 32;
/** A rotation whose response was lost costs no delivery, nor do two. */
const MAX_REPLACED = 3;

@Injectable()
export class WebhooksService {
  constructor(
    private readonly sql: Sql,
    private readonly webhooks: WebhooksRepository,
    private readonly accounts: AccountsService,
    private readonly events: EventsRepository,
    private readonly types: EventTypeRegistry,
    private readonly eventSender: EventSender,
    private readonly clock: Clock,
    private readonly receivers: ReceiverClient,
    private readonly attempts: AttemptsRepository,
  ) {}

  /** Lists a page of the webhooks of the caller's account, or of `?account=`. @throws ApiError `invalid_cursor` */
  async list(principal: Principal, query: dto.ListWebhooksQuery): Promise<Page<dto.Webhook>> {
    const accountId = await this.accounts.idOfListed(principal.accountId, query.account);
    const page = await webhookPages.list(this.sql, query, { accountId });
    if (query.account === undefined) return page.with(page.items.map(shown));
    const names = await this.accounts.namesOf(page.items.map((each) => each.accountId));
    return page.with(
      page.items.map((each) => Object.assign(shown(each), { account: names.get(each.accountId) ?? '' })),
    );
  }

  /** @throws ApiError `validation_failed`, `insufficient_scope`, `too_many_webhooks` */
  create(
    principal: Principal,
    { url, types = null }: dto.NewWebhook,
    outer?: EntityManager,
  ): Promise<dto.WebhookWithSecret> {
    const requested = this.types.requested(principal, types);
    this.requirePublic(url);
    const secret = randomBytes(SECRET_BYTES);
    const now = new Date(this.clock.now());
    const times = { createdAt: now, updatedAt: now, dueAt: now };
    const values = { accountId: principal.accountId, url, types: requested, secret, ...times };
    return this.sql.transaction(async (transaction) => {
      const created = await this.webhooks.insert(values, transaction);
      if (!created) throw webhookErrors.too_many_webhooks();
      await this.record('create', created, principal.keyId, transaction);
      return Object.assign(shown(created), { secret: printSecret(secret) });
    }, outer);
  }

  /** @throws ApiError `webhook_not_found` */
  async get({ accountId }: Principal, id: bigint): Promise<dto.Webhook> {
    return shown(found(await this.webhooks.find({ id, accountId })));
  }

  /**
   * Changes the given members, and `types` to those that the key may read. A new URL and the status `active` end the
   * pause after a failure.
   *
   * @throws ApiError `validation_failed`, `insufficient_scope`, `webhook_not_found`, `precondition_failed`
   */
  async update(
    principal: Principal,
    id: bigint,
    { url, types: given, status }: dto.WebhookUpdate,
    precondition: Precondition<dto.Webhook>,
  ): Promise<dto.Webhook> {
    const requested = given === undefined ? undefined : this.types.requested(principal, given);
    if (url !== undefined) this.requirePublic(url);
    const now = new Date(this.clock.now());
    return this.change('update', principal, id, undefined, async (previous, transaction) => {
      const types = requested === undefined ? this.types.readable(principal, previous.types) : requested;
      const isRepeated = isInForce({ url, types, status }, shown(previous));
      if (!isRepeated) precondition(shown(previous));
      // Of any other webhook a lease may be running, which the next delivery must wait for.
      const isPaused = previous.failures > 0 || previous.disabledAt !== null;
      const isRenewed = isPaused && (status === 'active' || url !== undefined);
      return {
        ...(isRepeated && { updatedAt: previous.updatedAt }),
        ...(url !== undefined && { url }),
        ...(types !== previous.types && {
          types,
          ...(await this.skipOthers(previous, transaction)),
        }),
        ...(isRenewed && { failures: 0, failingSince: null, dueAt: now, lastError: null }),
        ...(status !== undefined && {
          disabledAt: status === 'active' ? null : (previous.disabledAt ?? now),
        }),
      };
    });
  }

  /** Sends a `webhook.test`, also to a disabled webhook. @throws ApiError `webhook_not_found` */
  async test({ accountId }: Principal, id: bigint): Promise<dto.WebhookTest> {
    const webhook = found(await this.webhooks.find({ id, accountId }));
    return this.resultOf(await this.eventSender.sendTest(webhook));
  }

  /** Lists the attempts to deliver an event. @throws ApiError `webhook_not_found` */
  async getDeliveries({ accountId }: Principal, id: bigint): Promise<dto.Delivery[]> {
    found(await this.webhooks.find({ id, accountId }));
    return this.attempts.list(id);
  }

  /**
   * Sends an event of the feed again, also to a disabled webhook. A test has the id 0.
   *
   * @throws ApiError `webhook_not_found`, `event_not_found`
   */
  async resend(principal: Principal, id: bigint, eventId: bigint): Promise<dto.WebhookTest> {
    if (eventId === 0n) return this.test(principal, id);
    const webhook = found(await this.webhooks.find({ id, accountId: principal.accountId }));
    const [event] = eventId > 0n ? (await this.events.read(eventId - 1n, 1, webhook)).events : [];
    // The retention has removed it, or the webhook does not have its type.
    if (event?.id !== eventId) throw webhookErrors.event_not_found();
    return this.resultOf(await this.eventSender.send(webhook, event));
  }

  /** Writes the attempt: only a process that sends events writes attempts later. */
  private async resultOf({ error }: Outcome): Promise<dto.WebhookTest> {
    await this.attempts.flush().catch(() => undefined);
    return { delivered: error === undefined, error: error ?? null };
  }

  /** Replaces the secret. Each replaced one signs until its own grace period ends. @throws ApiError `webhook_not_found` */
  async rotate(
    principal: Principal,
    id: bigint,
    { graceSeconds }: dto.WebhookRotation,
    outer?: EntityManager,
  ): Promise<dto.WebhookWithSecret> {
    const secret = randomBytes(SECRET_BYTES);
    const webhook = await this.change('rotate', principal, id, outer, (previous) => {
      const now = this.clock.now();
      const end = new Date(now + graceSeconds * SECOND_MS).toISOString();
      const replaced = [[previous.secret.toString('base64'), end] as const, ...previous.replacedSecrets];
      const inForce = replaced.filter(([, until]) => Date.parse(until) > now);
      return { secret, replacedSecrets: inForce.slice(0, MAX_REPLACED) };
    });
    return Object.assign(webhook, { secret: printSecret(secret) });
  }

  /**
   * Removes a webhook of the key's account; for a key with `admin`, of any account.
   *
   * @throws ApiError `webhook_not_found`, `precondition_failed`
   */
  remove({ accountId, keyId, scopes }: Principal, id: bigint, precondition: Precondition<dto.Webhook>) {
    const key = scopes.includes(ADMIN_SCOPE) ? { id } : { id, accountId };
    return this.sql.transaction(async (transaction) => {
      const known = await this.webhooks.lock(key, transaction);
      if (!known && precondition.isGiven) return;
      const webhook = found(known);
      precondition(shown(webhook));
      await this.webhooks.delete(webhook, transaction);
      await this.record('remove', webhook, keyId, transaction);
    });
  }

  /** Changes a webhook and records it. Values with its `updatedAt` repeat a change. */
  private change(
    change: string,
    { accountId, keyId }: Principal,
    id: bigint,
    outer: EntityManager | undefined,
    valuesOf: (previous: WebhookEntity, transaction: EntityManager) => WebhookValues | Promise<WebhookValues>,
  ): Promise<dto.Webhook> {
    return this.sql.transaction(async (transaction) => {
      const previous = found(await this.webhooks.lock({ id, accountId }, transaction));
      const values = await valuesOf(previous, transaction);
      const dated = { updatedAt: new Date(this.clock.now()), ...values };
      const changed = await this.webhooks.update(previous, dated, transaction);
      if (values.updatedAt !== previous.updatedAt) await this.record(change, changed, keyId, transaction);
      return shown(changed);
    }, outer);
  }

  /** Records a change in its transaction. The query of a URL may be a secret. */
  private async record(change: string, webhook: ShownColumns, key: string, transaction: EntityManager) {
    const { id, types, status } = shown(webhook);
    const { origin, pathname } = new URL(webhook.url);
    const listed = types ? types.join(', ') || 'none' : 'all';
    const names = await this.accounts.namesOf([webhook.accountId], transaction);
    await recordAudit(transaction, {
      command: `webhooks ${change}`,
      account: names.get(webhook.accountId),
      details: `webhook ${id}, url ${origin}${pathname}, types ${listed}, status ${status}`,
      madeByKey: key,
    });
  }

  /** If all events are delivered, new types begin now, not at the last delivery. */
  private async skipOthers(webhook: WebhookEntity, transaction: EntityManager): Promise<WebhookValues> {
    const { events, last } = await this.events.read(webhook.position, 1, webhook, transaction);
    return { position: events.length > 0 ? webhook.position : last };
  }

  private requirePublic(url: string): void {
    const rule = this.receivers.violatedRule(new URL(url));
    if (rule) throw validationFailed([`url ${rule}`]);
  }
}

/** @throws ApiError `webhook_not_found` */
function found(webhook: WebhookEntity | null): WebhookEntity {
  if (!webhook) throw webhookErrors.webhook_not_found();
  return webhook;
}

/** Returns a secret as the receiver gets it. */
function printSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/** Returns a webhook as clients see it. */
function shown({ id, url, types, lastError, ...webhook }: ShownColumns): dto.Webhook {
  const { createdAt, updatedAt, failures, disabledAt, dueAt, lastDeliveryAt, waitingSince } = webhook;
  const status = disabledAt ? 'disabled' : failures > 0 ? 'failing' : 'active';
  return {
    id,
    url,
    types,
    status,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    lastDeliveryAt: lastDeliveryAt?.toISOString() ?? null,
    lastError,
    waitingSince: waitingSince?.toISOString() ?? null,
    nextAttemptAt: status === 'failing' ? dueAt.toISOString() : null,
  };
}
