import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { CurrentPrincipal, type Principal, RequireScopeFor } from '../auth';
import { Operation } from '../api/operation/operation.decorator';
import { IfMatch, type Precondition } from '../api/entity-tags/entity-tag';
import { ADMIN_SCOPE, defineScopes } from '../api/extension/extension';
import { Idempotent, type Once } from '../api/idempotency/idempotent.decorator';
import { PathId } from '../api/fields/int64';
import { MAX_ATTEMPTS } from './attempts.repository';
import * as dto from './webhooks.dto';
import { webhookErrors } from './webhooks.errors';
import { WebhooksService } from './webhooks.service';

const WebhookId = () => PathId('webhookId', 'Identifier of the webhook.', webhookErrors.webhook_not_found);

export const webhookScopes = defineScopes('webhooks', 'manage');

const scope = webhookScopes.manage;

@Controller('webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Get()
  @RequireScopeFor('account', ADMIN_SCOPE)
  @Operation({
    id: 'listWebhooks',
    summary: 'List webhooks',
    description:
      "Lists the webhooks of the key's account in pages. With the scope `admin` a key also lists those of other accounts: `?account=NAME`, or `?account=*` for all.",
    scope: [scope, ADMIN_SCOPE],
    returns: [200, [dto.Webhook], 'A page of webhooks in the order of `sort`. `Link` has the next page.'],
  })
  listWebhooks(@CurrentPrincipal() principal: Principal, @Query() query: dto.ListWebhooksQuery) {
    return this.webhooks.list(principal, query);
  }

  @Post()
  @Operation({
    id: 'createWebhook',
    summary: 'Create a webhook',
    description:
      'Sends each later event to a URL: the events of animals and of the orders of the account, as far as the key may read them, in order, each at least once, signed by Standard Webhooks. Only this response has its secret.',
    scope,
    returns: [201, dto.WebhookWithSecret, 'The webhook with its secret. `Location` is its URL.'],
    rejects: [webhookErrors.too_many_webhooks],
  })
  createWebhook(
    @CurrentPrincipal() principal: Principal,
    @Body() webhook: dto.NewWebhook,
    @Idempotent({ secretOf: '/webhooks/:id' }) once: Once,
  ) {
    return once((transaction) => this.webhooks.create(principal, webhook, transaction));
  }

  @Get(':webhookId')
  @Operation({
    id: 'getWebhook',
    summary: 'Get a webhook',
    description: "Returns a webhook of the key's account, without its secret.",
    scope,
    returns: [200, dto.Webhook, 'The webhook.'],
  })
  getWebhook(@CurrentPrincipal() principal: Principal, @WebhookId() id: bigint) {
    return this.webhooks.get(principal, id);
  }

  @Patch(':webhookId')
  @Operation({
    id: 'updateWebhook',
    summary: 'Change a webhook',
    description:
      'Changes the given members. A new `url` or the status `active` retries undelivered events immediately. From now on the webhook has only `types` that this key may read and that still exist.',
    scope,
    returns: [200, dto.Webhook, 'The changed webhook.'],
  })
  updateWebhook(
    @CurrentPrincipal() principal: Principal,
    @WebhookId() id: bigint,
    @Body() change: dto.WebhookUpdate,
    @IfMatch(dto.Webhook) precondition: Precondition<dto.Webhook>,
  ) {
    return this.webhooks.update(principal, id, change, precondition);
  }

  @Delete(':webhookId')
  @Operation({
    id: 'deleteWebhook',
    summary: 'Remove a webhook',
    description:
      'Removes a webhook, with the scope `admin` of any account. Its undelivered events are not sent.',
    scope: [scope, ADMIN_SCOPE],
    returns: [204, undefined, 'The webhook was removed.'],
  })
  deleteWebhook(
    @CurrentPrincipal() principal: Principal,
    @WebhookId() id: bigint,
    @IfMatch(dto.Webhook) precondition: Precondition<dto.Webhook>,
  ) {
    return this.webhooks.remove(principal, id, precondition);
  }

  @Post(':webhookId/test')
  @Operation({
    id: 'testWebhook',
    summary: 'Test a webhook',
    description: 'Sends an event of the type `webhook.test` immediately, and returns the outcome.',
    scope,
    hasEntityTag: false,
    returns: [200, dto.WebhookTest, 'The outcome of the delivery.'],
  })
  testWebhook(@CurrentPrincipal() principal: Principal, @WebhookId() id: bigint) {
    return this.webhooks.test(principal, id);
  }

  @Get(':webhookId/deliveries')
  @Operation({
    id: 'getDeliveries',
    summary: 'List the deliveries of a webhook',
    description: `Returns the last ${MAX_ATTEMPTS} attempts to deliver an event, the newest first. An attempt appears within a second.`,
    scope,
    hasEntityTag: false,
    maxItems: MAX_ATTEMPTS,
    returns: [200, [dto.Delivery], 'The attempts.'],
  })
  getDeliveries(@CurrentPrincipal() principal: Principal, @WebhookId() id: bigint) {
    return this.webhooks.getDeliveries(principal, id);
  }

  @Post(':webhookId/deliveries/:eventId/resend')
  @Operation({
    id: 'resendEvent',
    summary: 'Send an event again',
    description:
      'Sends an event of the feed once more, immediately and also if the webhook is disabled, and returns the outcome.',
    scope,
    hasEntityTag: false,
    returns: [200, dto.WebhookTest, 'The outcome of the delivery.'],
  })
  resendEvent(
    @CurrentPrincipal() principal: Principal,
    @WebhookId() id: bigint,
    @PathId('eventId', 'Identifier of the event; 0 sends a new test.', webhookErrors.event_not_found, 0)
    eventId: bigint,
  ) {
    return this.webhooks.resend(principal, id, eventId);
  }

  @Post(':webhookId/rotate')
  @Operation({
    id: 'rotateWebhook',
    summary: 'Replace the secret of a webhook',
    description:
      'Makes a new secret. For `graceSeconds` each delivery is signed with the old one, too. Only this response has the new secret. If it is lost, rotate again.',
    scope,
    returns: [200, dto.WebhookWithSecret, 'The webhook with its new secret.'],
  })
  rotateWebhook(
    @CurrentPrincipal() principal: Principal,
    @WebhookId() id: bigint,
    @Body() rotation: dto.WebhookRotation,
    @Idempotent({ secretOf: '/webhooks/:id' }) once: Once,
  ) {
    return once((transaction) => this.webhooks.rotate(principal, id, rotation, transaction));
  }
}
