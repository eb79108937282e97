/**
 * Routes for a project's webhooks and their deliveries. A secret is returned once; a console cannot open stored ones.
 */
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import { invalidField } from '../../domain/errors.js';
import { maskedUrl } from '../../domain/masked-url.js';
import { IsFlag, IsInteger, IsListOf, IsText, OneOf, Optional } from '../../platform/http/body/member-rules.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { EVENT_TYPES } from '../../domain/event-types.js';
import { audited } from '../../platform/database/audit-log.js';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../domain/webhook-delivery.js';
import { WebhookDeliveries } from '../webhooks/webhook-deliveries.js';
import { deliveryBody, replayBody, webhookBody } from '../webhooks/webhooks.dto.js';
import { ROTATION_SEC_MAX, Webhooks, type WebhookOptions, type WebhookView } from '../webhooks/webhooks.js';
import { notFound, withoutNull } from './answers.js';
import { authorOf, Person } from './caller.js';
import { Authority, type ConsoleCaller } from './authority.js';
import type { Done } from './api-shapes.js';
import type { Page } from './data-shapes.js';
import type {
  ChangeWebhook,
  DeliveryShape,
  MakeWebhook,
  OneDelivery,
  ReplayShape,
  WebhookSecret,
  WebhookShape,
} from './integration-shapes.js';
import { pageOf } from './lists.js';

const READS = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'project' } as const;
const WRITES = { merchant: ['owner'], operator: ['admin'], scope: 'project', again: true } as const;
/** For repeated deliveries, which need no fresh sign-in: no secret is shown. */
const SENDS = { merchant: ['owner'], operator: ['admin'], scope: 'project' } as const;
const DELIVERY_ID = /^[1-9]\d{0,15}$/;
const URL_TEXT = { maxLength: 2048, description: 'The URL to send events to.' };
const DESCRIPTION = { minLength: 0, maxLength: 500, description: 'Purpose.' } as const;
const TYPES = 'Only events of these types; empty: all.';

class MakeWebhookRequest implements MakeWebhook {
  @IsText(URL_TEXT)
  declare readonly url: string;

  @Optional()
  @IsListOf(EVENT_TYPES, TYPES)
  declare readonly types?: readonly string[];

  @Optional()
  @IsText(DESCRIPTION)
  declare readonly description?: string;
}

class ChangeWebhookRequest implements ChangeWebhook {
  @Optional()
  @IsText(URL_TEXT)
  declare readonly url?: string;

  @Optional()
  @IsListOf(EVENT_TYPES, TYPES)
  declare readonly types?: readonly string[];

  @Optional()
  @IsText(DESCRIPTION)
  declare readonly description?: string;

  @Optional()
  @IsFlag('Events are sent.')
  declare readonly enabled?: boolean;
}

class RotateRequest {
  @IsInteger(() => ({ min: 0, max: ROTATION_SEC_MAX }), 'For how long the secret before signs beside the new one.')
  declare readonly expire_old_after_sec: number;
}

class ReplayRequest {
  @IsInteger(() => ({ min: 0, max: Number.MAX_SAFE_INTEGER }), 'The position to begin behind.')
  declare readonly after: number;
}

class DeliveriesQuery extends PageQuery {
  @OneOf(DELIVERY_STATUSES)
  declare readonly status?: DeliveryStatus;
}

/** An interface, because the pipe validates classes as bodies and queries. */
interface DeliveryPath {
  readonly project_id: string;
  readonly webhook_id: string;
  readonly delivery_id: string;
}

@Controller('api/projects/:project_id')
export class WebhookPagesController {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly deliveries: WebhookDeliveries,
  ) {}

  @Get('webhooks')
  @Authority(READS)
  async list(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
  ): Promise<{ items: WebhookShape[] }> {
    return { items: (await this.webhooks.list(project)).map((view) => shapeOf(view, caller)) };
  }

  @Post('webhooks')
  @HttpCode(201)
  @Authority(WRITES)
  async make(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Body() request: MakeWebhookRequest,
  ): Promise<WebhookSecret> {
    const made = await this.webhooks.create(
      project,
      { ...optionsOf(request), url: request.url },
      null,
      audited(authorOf(caller)),
    );
    return { webhook: shapeOf(await this.webhooks.get(project, made.id), caller), secret: made.secret };
  }

  @Get('webhooks/:webhook_id')
  @Authority(READS)
  async read(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('webhook_id') id: string,
  ): Promise<WebhookShape> {
    return shapeOf(await this.webhooks.get(project, id), caller);
  }

  @Post('webhooks/:webhook_id')
  @HttpCode(200)
  @Authority(WRITES)
  async change(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('webhook_id') id: string,
    @Body() request: ChangeWebhookRequest,
  ): Promise<WebhookShape> {
    await this.webhooks.change(project, id, optionsOf(request), audited(authorOf(caller)));
    return shapeOf(await this.webhooks.get(project, id), caller);
  }

  @Post('webhooks/:webhook_id/delete')
  @HttpCode(200)
  @Authority(WRITES)
  async delete(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('webhook_id') id: string,
    @Body() _: EmptyBody,
  ): Promise<Done> {
    await this.webhooks.delete(project, id, audited(authorOf(caller)));
    return { done: true };
  }

  @Post('webhooks/:webhook_id/rotate')
  @HttpCode(200)
  @Authority(WRITES)
  async rotate(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('webhook_id') id: string,
    @Body() { expire_old_after_sec: expireSec }: RotateRequest,
  ): Promise<WebhookSecret> {
    const secret = await this.webhooks.rotate(project, id, expireSec, audited(authorOf(caller)));
    return { webhook: shapeOf(await this.webhooks.get(project, id), caller), secret };
  }

  @Post('webhooks/:webhook_id/test')
  @HttpCode(200)
  @Authority(SENDS)
  async test(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('webhook_id') id: string,
    @Body() _: EmptyBody,
  ): Promise<DeliveryShape> {
    return deliveryFor(caller, deliveryBody(await this.deliveries.test(project, id, audited(authorOf(caller)))));
  }

  @Post('webhooks/:webhook_id/replay')
  @HttpCode(200)
  @Authority(SENDS)
  async replay(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('webhook_id') id: string,
    @Body() { after }: ReplayRequest,
  ): Promise<ReplayShape> {
    return replayBody(await this.deliveries.replay(project, id, BigInt(after), audited(authorOf(caller))));
  }

  @Get('webhooks/:webhook_id/deliveries')
  @Authority(READS)
  async sent(
    @Person() caller: ConsoleCaller,
    @Param('project_id') project: string,
    @Param('webhook_id') id: string,
    @Query() query: DeliveriesQuery,
  ): Promise<Page<DeliveryShape>> {
    await this.webhooks.get(project, id);
    return pageOf(
      query,
      async (before, limit) => ({
        rows: await this.deliveries.list(id, query.status, limit + 1, before),
        endedAt: undefined,
      }),
      (view) => deliveryFor(caller, deliveryBody(view)),
    );
  }

  @Get('webhooks/:webhook_id/deliveries/:delivery_id')
  @Authority(READS)
  async delivery(
    @Person() caller: ConsoleCaller,
    @Param() { project_id: project, webhook_id: id, delivery_id: delivery }: DeliveryPath,
  ): Promise<OneDelivery> {
    await this.webhooks.get(project, id);
    const found = DELIVERY_ID.test(delivery) ? await this.deliveries.find(id, BigInt(delivery)) : undefined;
    if (found === undefined) throw notFound('delivery');
    return withoutNull<OneDelivery>({
      ...deliveryFor(caller, deliveryBody(found)),
      order_key: found.order_key,
      body: found.body,
    });
  }

  @Post('webhooks/:webhook_id/deliveries/:delivery_id/resend')
  @HttpCode(200)
  @Authority(SENDS)
  async resend(
    @Person() caller: ConsoleCaller,
    @Param() { project_id: project, webhook_id: id, delivery_id: delivery }: DeliveryPath,
    @Body() _: EmptyBody,
  ): Promise<DeliveryShape> {
    if (!DELIVERY_ID.test(delivery)) throw invalidField('delivery_id', 'is not a delivery of this webhook');
    const view = await this.deliveries.resend(project, id, BigInt(delivery), audited(authorOf(caller)));
    return deliveryFor(caller, deliveryBody(view));
  }
}

function optionsOf({ url, types, description, enabled }: ChangeWebhook): WebhookOptions {
  return {
    ...(url !== undefined && { url }),
    ...(types !== undefined && { types }),
    ...(description !== undefined && { description }),
    ...(enabled !== undefined && { isEnabled: enabled }),
  };
}

/** Masks the URL's path for support, because it may hold a token. */
function shapeOf(view: WebhookView, { role }: ConsoleCaller): WebhookShape {
  const { secret: _, ...body } = webhookBody(view);
  return role === 'support' ? { ...body, url: maskedUrl(body.url) } : body;
}

/** Only an owner sees the answer of the receiving host. */
function deliveryFor({ role }: ConsoleCaller, { last_answer: answer, ...body }: DeliveryShape): DeliveryShape {
  return role === 'owner' && answer !== undefined ? { ...body, last_answer: answer } : body;
}
