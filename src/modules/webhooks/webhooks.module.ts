/** Wires the endpoints of webhooks for the API and the operator's commands. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WebhookEndpoint } from '../../platform/database/entities/webhook-endpoint.entity.js';
import { WebhookDeliveries } from './webhook-deliveries.js';
import { WebhooksController } from './webhooks.controller.js';
import { Webhooks } from './webhooks.js';

@Module({
  imports: [TypeOrmModule.forFeature([WebhookEndpoint])],
  providers: [Webhooks, WebhookDeliveries],
  controllers: [WebhooksController],
  exports: [Webhooks, WebhookDeliveries],
})
export class WebhooksModule {}
