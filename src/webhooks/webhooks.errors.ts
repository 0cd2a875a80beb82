import { defineErrors } from '../api/errors/api-error';
import { MAX_WEBHOOKS } from './webhook.entity';

export const webhookErrors = defineErrors({
  webhook_not_found: {
    status: 404,
    when: 'there is no webhook with this id, or it belongs to another account',
    message: 'There is no webhook with this id: list the webhooks.',
  },
  event_not_found: {
    status: 404,
    when: 'the webhook has no event with this id, or it was removed',
    message: 'The webhook has no event with this id: list its deliveries or the events.',
  },
  too_many_webhooks: {
    status: 409,
    when: `the account has ${MAX_WEBHOOKS} webhooks`,
    message: `Your account has ${MAX_WEBHOOKS} webhooks, the maximum. Remove one first.`,
  },
});
