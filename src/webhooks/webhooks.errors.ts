import { defineErrors } from '../platform/errors/define-errors';
import { MAX_WEBHOOKS } from './webhook.entity';

export const webhookErrors = defineErrors({
  webhook_not_found: {
    status: 404,
    when: 'there is no webhook with this id, or it belongs to another account',
    message: 'There is no webhook with this id: list the webhooks.',
  },
  event_not_found: {
    status: 404,
    when: 'no kept attempt of the webhook is of this event, or the event was removed',
    message: 'The webhook has no kept attempt to deliver an event with this id: list its deliveries.',
  },
  too_many_webhooks: {
    status: 409,
    when: `the account has ${MAX_WEBHOOKS} webhooks`,
    message: `Your account has ${MAX_WEBHOOKS} webhooks, the maximum. Remove one first.`,
  },
});
