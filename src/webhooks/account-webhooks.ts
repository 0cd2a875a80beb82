import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AccountsService } from '../accounts';
import type { Principal } from '../auth';
import { recordAudit } from '../platform/database/audit';
import { Sql } from '../platform/database/sql';
import type { Precondition } from '../platform/entity-tags/entity-tag';
import { ADMIN_SCOPE } from '../platform/extension/define-scopes';
import type { Page } from '../platform/paging/page';
import type { ListWebhooksQuery, Webhook } from './webhooks.dto';
import { webhookErrors } from './webhooks.errors';
import { type ShownColumns, webhookPages, WebhooksRepository } from './webhooks.repository';

/** Lists and removes the webhooks of every account, and records each change, for HTTP and the command line. */
@Injectable()
export class AccountWebhooks {
  constructor(
    private readonly sql: Sql,
    private readonly webhooks: WebhooksRepository,
    private readonly accounts: AccountsService,
  ) {}

  /** Lists a page of the webhooks of the caller's account, or of `?account=`. @throws ApiError `invalid_cursor` */
  async listPage(principal: Principal, query: ListWebhooksQuery): Promise<Page<Webhook>> {
    const accountId = await this.accounts.idOfListed(principal.accountId, query.account);
    const page = await webhookPages.list(this.sql, query, { accountId });
    return page.with(query.account === undefined ? page.items.map(shown) : await this.show(page.items));
  }

  /** Lists the webhooks of one account, or of all, for the command line. @throws ApiError if the account does not exist */
  async list(account?: string): Promise<Webhook[]> {
    const owner = account === undefined ? undefined : await this.accounts.require(account);
    return await this.show(await this.webhooks.list(owner && { accountId: owner.id }));
  }

  /**
   * Removes a webhook of the key's account; for a command, or a key with `admin`, of any account.
   *
   * @throws ApiError `webhook_not_found`, `precondition_failed`
   */
  remove(id: bigint, by?: Principal, precondition?: Precondition<Webhook>): Promise<void> {
    const isOwn = by?.scopes.includes(ADMIN_SCOPE) === false;
    return this.sql.transaction(async (transaction) => {
      const webhook = await this.webhooks.lock(isOwn ? { id, accountId: by.accountId } : { id }, transaction);
      if (!webhook && precondition?.isGiven) return;
      if (!webhook) throw webhookErrors.webhook_not_found();
      precondition?.(shown(webhook));
      await this.webhooks.delete(webhook, transaction);
      await this.record('remove', webhook, by?.keyId, transaction);
    });
  }

  /** Records a change in its transaction. The query of a URL may be a secret. */
  async record(change: string, webhook: ShownColumns, key: string | undefined, transaction: EntityManager) {
    const { id, types, status } = shown(webhook);
    const { origin, pathname } = new URL(webhook.url);
    const names = await this.accounts.namesOf([webhook.accountId], transaction);
    await recordAudit(transaction, {
      command: `webhooks ${change}`,
      account: names.get(webhook.accountId),
      details: `webhook ${id}, url ${origin}${pathname}, types ${typesText(types)}, status ${status}`,
      madeByKey: key,
    });
  }

  private async show(webhooks: readonly ShownColumns[]): Promise<Webhook[]> {
    const names = await this.accounts.namesOf(webhooks.map(({ accountId }) => accountId));
    return webhooks.map((each) => Object.assign(shown(each), { account: names.get(each.accountId) ?? '' }));
  }
}

export function typesText(types: Webhook['types']): string {
  return types ? types.join(', ') || 'none' : 'all';
}

/** Returns a webhook as clients see it. */
export function shown({ id, url, types, lastError, ...webhook }: ShownColumns): Webhook {
  const { createdAt, updatedAt, attempts, disabledAt, dueAt, lastDeliveryAt, waitingSince } = webhook;
  const status = disabledAt ? 'disabled' : attempts > 0 ? 'failing' : 'active';
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
