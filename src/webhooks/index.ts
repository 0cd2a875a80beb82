export { AccountWebhooks, typesText } from './account-webhooks';
export { AccountWebhooksModule, WebhooksModule } from './webhooks.module';
