import { defineErrors } from '../platform/errors/define-errors';

/** The most webhooks of an account. */
export const MAX_WEBHOOKS = 10;

export const webhookErrors = defineErrors({
  webhook_not_found: {
    status: 404,
    when: 'there is no webhook with this id, or it belongs to another account',
    message: 'There is no webhook with this id: list the webhooks.',
  },
  event_not_found: {
    status: 404,
    when: 'the webhook was sent no event with this id, or EVENTS_RETENTION_DAYS has removed it',
    message: 'The webhook was sent no event with this id, or the event was removed: list its deliveries.',
  },
  too_many_webhooks: {
    status: 409,
    when: `the account has ${MAX_WEBHOOKS} webhooks`,
    message: `Your account has ${MAX_WEBHOOKS} webhooks, the maximum. Remove one first.`,
  },
});
