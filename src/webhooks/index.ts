export { AccountWebhooks, namesOf } from './account-webhooks';
export { AccountWebhooksModule, WebhooksModule } from './webhooks.module';
