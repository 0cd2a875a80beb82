import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { EventsModule } from '../events';
import type { Extension } from '../platform/extension/extension';
import { Deliveries } from './deliveries';
import { webhooksMigrations } from './migrations/webhooks.migrations';
import { WebhookEntity } from './webhook.entity';
import { WebhookSecrets } from './webhook-secrets';
import { WebhookSender } from './webhook-sender';
import { WebhooksController } from './webhooks.controller';
import { WebhooksRepository } from './webhooks.repository';
import { webhookScopes } from './webhooks.scopes';
import { WebhooksService } from './webhooks.service';
import { webhookSettings } from './webhooks.settings';

@Module({
  imports: [TypeOrmModule.forFeature([WebhookEntity]), EventsModule],
  controllers: [WebhooksController],
  providers: [Deliveries, WebhookSecrets, WebhookSender, WebhooksRepository, WebhooksService],
})
class WebhooksModule {}

export const webhooksExtension: Extension = {
  name: 'webhooks',
  modules: [WebhooksModule],
  migrations: webhooksMigrations,
  scopes: Object.values(webhookScopes),
  tags: { webhooks: 'Receivers of events, to which the service sends what happened to animals and orders.' },
  settings: webhookSettings,
};
