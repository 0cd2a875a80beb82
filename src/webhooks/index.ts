export { AccountWebhooks, namesOf } from './account-webhooks';
export { AccountWebhooksModule, webhooksExtension } from './webhooks.extension';
