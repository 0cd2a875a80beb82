import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountsModule } from '../auth';
import { EventsModule } from '../events';
import { StoreExtension } from '../api/extension/extension';
import { AttemptsRepository } from './attempts.repository';
import { DeliveryWorker } from './delivery-worker';
import { EventSender } from './event-sender';
import * as migrations from './migrations/webhooks.migrations';
import { WebhookEntity } from './webhook.entity';
import { ReceiverClient, webhookSettings } from './receiver-client';
import { WebhooksController, webhookScopes } from './webhooks.controller';
import { WebhooksRepository } from './webhooks.repository';
import { WebhooksService } from './webhooks.service';

@StoreExtension({
  name: 'webhooks',
  migrations: Object.values(migrations),
  scopes: Object.values(webhookScopes),
  tags: { webhooks: 'Receivers of events, to which the service sends what happened to animals and orders.' },
  settings: webhookSettings,
  imports: [TypeOrmModule.forFeature([WebhookEntity]), AccountsModule, EventsModule],
  controllers: [WebhooksController],
  providers: [
    AttemptsRepository,
    DeliveryWorker,
    EventSender,
    ReceiverClient,
    WebhooksRepository,
    WebhooksService,
  ],
})
export class WebhooksModule {}
