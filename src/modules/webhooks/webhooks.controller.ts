import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import { nonceOf } from '../auth/nonces.js';
import { cursorAt, idIn } from '../../domain/cursor.js';
import { cutPage, pageBody, type PageBody } from '../../domain/page.js';
import { ApiError } from '../../domain/errors.js';
import { Describe } from '../../platform/http/openapi/openapi.js';
import { LIMIT_DEFAULT } from '../../platform/http/body/page-query.js';
import { ListQueue } from '../../platform/http/pipeline/list-queue.js';
import { Caller } from '../../platform/http/pipeline/request-context.js';
import { RouteOptionsOf } from '../../platform/http/pipeline/route-options.js';
import { WebhookDeliveries } from './webhook-deliveries.js';
import {
  deliveryBody,
  DeliveryListQuery,
  replayBody,
  webhookBody,
  WebhookChangeRequest,
  WebhookReplayRequest,
  WebhookRequest,
  WebhookRotateRequest,
  type DeletedBody,
  type DeliveryBody,
  type ReplayBody,
  type WebhookBody,
  type WebhookListBody,
} from './webhooks.dto.js';
import {
  describeDeliveries,
  describeResend,
  describeWebhookChange,
  describeWebhookCreate,
  describeWebhookDelete,
  describeWebhookList,
  describeWebhookRead,
  describeWebhookReplay,
  describeWebhookRotate,
  describeWebhookTest,
} from './webhooks.openapi.js';
import { ROTATION_SEC_MAX, Webhooks } from './webhooks.js';

const MANAGE = { scope: 'manage', budget: 'general' } as const;
/** Routes without a mandatory member accept a missing body. */
const ACT = { ...MANAGE, mayBeEmpty: true } as const;

@Controller('v1/webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly deliveries: WebhookDeliveries,
    private readonly listQueue: ListQueue,
  ) {}

  @Post()
  @Describe(describeWebhookCreate)
  @RouteOptionsOf(MANAGE)
  @HttpCode(201)
  async create(@Caller() caller: Caller, @Body() request: WebhookRequest): Promise<WebhookBody> {
    const projectId = caller.project.id;
    const { id, secret } = await this.webhooks.create(projectId, request, caller.keyId, nonceOf(caller));
    return { ...webhookBody(await this.webhooks.get(projectId, id)), secret };
  }

  @Get()
  @Describe(describeWebhookList)
  @RouteOptionsOf(MANAGE)
  async list(@Caller() { project }: Caller): Promise<WebhookListBody> {
    return { items: (await this.webhooks.list(project.id)).map(webhookBody) };
  }

  @Get(':id')
  @Describe(describeWebhookRead)
  @RouteOptionsOf(MANAGE)
  async find(@Caller() { project }: Caller, @Param('id') id: string): Promise<WebhookBody> {
    return webhookBody(await this.webhooks.get(project.id, id));
  }

  @Post(':id')
  @Describe(describeWebhookChange)
  @RouteOptionsOf(MANAGE)
  @HttpCode(200)
  async change(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { enabled, ...options }: WebhookChangeRequest,
  ): Promise<WebhookBody> {
    const changes = { ...options, ...(enabled !== undefined && { isEnabled: enabled }) };
    await this.webhooks.change(caller.project.id, id, changes, nonceOf(caller));
    return webhookBody(await this.webhooks.get(caller.project.id, id));
  }

  @Delete(':id')
  @Describe(describeWebhookDelete)
  @RouteOptionsOf(ACT)
  async delete(@Caller() caller: Caller, @Param('id') id: string, @Body() _: EmptyBody): Promise<DeletedBody> {
    await this.webhooks.delete(caller.project.id, id, nonceOf(caller));
    return { id, deleted: true };
  }

  @Post(':id/rotate')
  @Describe(describeWebhookRotate)
  @RouteOptionsOf(ACT)
  @HttpCode(200)
  async rotate(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() request: WebhookRotateRequest,
  ): Promise<WebhookBody> {
    const expireSec = request.expire_old_after_sec ?? ROTATION_SEC_MAX;
    const secret = await this.webhooks.rotate(caller.project.id, id, expireSec, nonceOf(caller));
    return { ...webhookBody(await this.webhooks.get(caller.project.id, id)), secret };
  }

  @Post(':id/test')
  @Describe(describeWebhookTest)
  @RouteOptionsOf(ACT)
  @HttpCode(202)
  async test(@Caller() caller: Caller, @Param('id') id: string, @Body() _: EmptyBody): Promise<DeliveryBody> {
    return deliveryBody(await this.deliveries.test(caller.project.id, id, nonceOf(caller)));
  }

  @Post(':id/replay')
  @Describe(describeWebhookReplay)
  @RouteOptionsOf(MANAGE)
  @HttpCode(202)
  async replay(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { after }: WebhookReplayRequest,
  ): Promise<ReplayBody> {
    return replayBody(await this.deliveries.replay(caller.project.id, id, BigInt(after), nonceOf(caller)));
  }

  @Get(':id/deliveries')
  @Describe(describeDeliveries)
  @RouteOptionsOf(MANAGE)
  async listDeliveries(
    @Caller() { project }: Caller,
    @Param('id') id: string,
    @Query() { status, limit, cursor }: DeliveryListQuery,
  ): Promise<PageBody<DeliveryBody>> {
    await this.webhooks.get(project.id, id);
    const most = Number(limit ?? LIMIT_DEFAULT);
    const before = cursor === undefined ? undefined : idIn('w', cursor, 'deliveries');
    const found = await this.listQueue.run(project.id, () => this.deliveries.list(id, status, most + 1, before));
    return pageBody(
      cutPage(found, most, ({ id: last }) => cursorAt('w', last)),
      deliveryBody,
    );
  }

  @Post(':id/deliveries/:delivery/resend')
  @Describe(describeResend)
  @RouteOptionsOf(ACT)
  @HttpCode(202)
  async resend(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Param('delivery') delivery: string,
    @Body() _: EmptyBody,
  ): Promise<DeliveryBody> {
    const deliveryId = idOf(delivery);
    if (deliveryId === undefined) throw new ApiError('NOT_FOUND', 'This webhook has no delivery with this ID.');
    return deliveryBody(await this.deliveries.resend(caller.project.id, id, deliveryId, nonceOf(caller)));
  }
}

function idOf(text: string): bigint | undefined {
  return /^[1-9]\d{0,17}$/.test(text) ? BigInt(text) : undefined;
}
