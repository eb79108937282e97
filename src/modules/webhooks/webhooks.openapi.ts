/** OpenAPI descriptions of the webhook routes (docs/interface.md §27). */
import {
  always,
  answerSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
  type Parameter,
} from '../../platform/http/openapi/openapi.js';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import type { PageBody } from '../../domain/page.js';
import { DELIVERY_CAUSES, DELIVERY_STATUSES } from '../../domain/webhook-delivery.js';
import {
  DeliveryListQuery,
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

const ID = '5f6f0a1e-6c0a-4f0e-9a53-7d1c1f1f2b11';
const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDQ4Z4n1p3nQ8=';

const WEBHOOK_ANSWER = answerSchema<WebhookBody>({
  id: always(textSchema('The webhook.', ID)),
  url: always(textSchema('URL that receives the events.', 'https://shop.example.com/energy')),
  types: sometimes({
    type: 'array',
    items: { type: 'string' },
    description: 'Only events of these types; absent: all.',
  }),
  description: always(textSchema('Purpose.', 'orders')),
  enabled: always({ type: 'boolean', description: 'True if events are sent.' }),
  disabled_reason: sometimes(
    textSchema(
      'owner: disabled by its owner. gone: the URL answered 410. failing: five days without success.',
      'failing',
      {
        enum: ['owner', 'gone', 'failing'],
      },
    ),
  ),
  disabled_at: sometimes(timeSchema('Time since when nothing is sent.')),
  failing_since: sometimes(timeSchema('Time of the first failed attempt after the last success.')),
  pending: always(integerSchema('Deliveries that wait or are being retried, counted up to 10 000.', 0)),
  previous_secret_until: sometimes(timeSchema('End of the time in which the previous secret also signs.')),
  created_at: always(timeSchema('Time of creation.')),
  changed_at: always(timeSchema('Time of the last change.')),
  secret: sometimes(textSchema('Secret to verify deliveries with. Only the answer that made it shows it.', SECRET)),
});

const DELIVERY_ANSWER = answerSchema<DeliveryBody>({
  id: always(integerSchema('The delivery.', 12)),
  event_id: always(textSchema('The id of the event, sent as webhook-id.', 'evt_6f1ed002ab5595859014ebf0951522d9')),
  type: always(textSchema('The type of the event.', 'order.delivered')),
  position: sometimes(integerSchema('Position of the event in the log; a test has none.', 42)),
  cause: always(textSchema('Reason for the delivery.', 'event', { enum: DELIVERY_CAUSES })),
  status: always(
    textSchema(
      'pending: waits or is retried. delivered: answered 2xx. failed: every attempt failed. dropped: no longer sent.',
      'delivered',
      { enum: DELIVERY_STATUSES },
    ),
  ),
  attempts: always(integerSchema('Attempts so far.', 1)),
  created_at: always(timeSchema('Time of creation.')),
  next_attempt_at: sometimes(timeSchema('Earliest time of the next attempt, while pending.')),
  last_attempt_at: sometimes(timeSchema('End of the last attempt.')),
  ended_at: sometimes(timeSchema('Time when it was delivered, failed or dropped.')),
  last_status: sometimes(integerSchema('The HTTP status of the last answer, if there was one.', 200)),
  last_error: sometimes(textSchema('Reason why the last attempt failed.', 'TIMEOUT')),
  last_answer: sometimes(textSchema('The first 256 bytes of the last answer.', 'ok')),
  last_duration_ms: sometimes(integerSchema('Duration of the last attempt.', 84)),
});

const WEBHOOK: WebhookBody = {
  id: ID,
  url: 'https://shop.example.com/energy',
  types: ['order.delivered', 'order.refunded'],
  description: 'orders',
  enabled: true,
  pending: 0,
  created_at: '2026-11-20T12:00:00.000Z',
  changed_at: '2026-11-20T12:00:00.000Z',
};
const DELIVERY: DeliveryBody = {
  id: 12,
  event_id: 'evt_6f1ed002ab5595859014ebf0951522d9',
  type: 'order.delivered',
  position: 42,
  cause: 'event',
  status: 'delivered',
  attempts: 1,
  created_at: '2026-11-20T12:00:03.100Z',
  last_attempt_at: '2026-11-20T12:00:03.300Z',
  ended_at: '2026-11-20T12:00:03.300Z',
  last_status: 204,
  last_duration_ms: 84,
};
const WAITING: DeliveryBody = {
  id: 13,
  event_id: 'evt_test_5595859014ebf0951522d9aa',
  type: 'webhook.test',
  cause: 'test',
  status: 'pending',
  attempts: 0,
  created_at: '2026-11-20T12:00:04.000Z',
  next_attempt_at: '2026-11-20T12:00:04.000Z',
};

const pathId = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});
const WEBHOOK_ID = pathId('id', 'The id of the webhook.');
const webhookAnswer = (description: string, example: WebhookBody) => ({
  description,
  schemaName: 'Webhook',
  schema: WEBHOOK_ANSWER,
  examples: { webhook: example },
});
const deliveryAnswer = (description: string) => ({
  description,
  schemaName: 'WebhookDelivery',
  schema: DELIVERY_ANSWER,
  examples: { waiting: WAITING },
});
const NOTHING = { schemaName: 'WebhookActRequest', type: EmptyBody, examples: { nothing: {} } };

export function describeWebhookCreate(): Operation {
  return {
    operationId: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description: 'A project may have ten webhooks. Only this answer shows the secret; `rotate` makes a new one.',
    request: {
      schemaName: 'WebhookRequest',
      type: WebhookRequest,
      examples: { orders: { url: WEBHOOK.url, types: WEBHOOK.types, description: WEBHOOK.description } },
    },
    answers: { 201: webhookAnswer('The webhook, with its secret.', { ...WEBHOOK, secret: SECRET }) },
    errors: ['ADDRESS_NOT_ALLOWED', 'LIMIT_REACHED'],
  };
}

export function describeWebhookList(): Operation {
  return {
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    description: 'Returns all webhooks of the project, oldest first.',
    answers: {
      200: {
        description: 'The webhooks.',
        schemaName: 'WebhookList',
        schema: answerSchema<WebhookListBody>({
          items: always({ type: 'array', items: { $ref: '#/components/schemas/Webhook' } }),
        }),
        examples: { list: { items: [WEBHOOK] } },
      },
    },
    errors: [],
  };
}

export function describeWebhookRead(): Operation {
  return {
    operationId: 'getWebhook',
    tag: 'Webhooks',
    summary: 'Read a webhook',
    description: 'Returns the webhook without its secret.',
    parameters: [WEBHOOK_ID],
    answers: { 200: webhookAnswer('The webhook.', WEBHOOK) },
    errors: ['NOT_FOUND'],
  };
}

export function describeWebhookChange(): Operation {
  return {
    operationId: 'changeWebhook',
    tag: 'Webhooks',
    summary: 'Change, enable or disable a webhook',
    description:
      'Absent members keep their values. Events that occurred while the webhook was disabled are not sent: use `replay`. A project may make 100 changes to webhooks in 24 hours; disabling and deleting are always possible.',
    parameters: [WEBHOOK_ID],
    request: {
      schemaName: 'WebhookChangeRequest',
      type: WebhookChangeRequest,
      examples: { enable: { enabled: true } },
    },
    answers: { 200: webhookAnswer('The current webhook.', WEBHOOK) },
    errors: ['ADDRESS_NOT_ALLOWED', 'NOT_FOUND', 'LIMIT_REACHED'],
  };
}

export function describeWebhookDelete(): Operation {
  return {
    operationId: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'Sends nothing more, including waiting deliveries. The body is optional.',
    parameters: [WEBHOOK_ID],
    request: NOTHING,
    answers: {
      200: {
        description: 'The webhook was deleted.',
        schemaName: 'WebhookDeleted',
        schema: answerSchema<DeletedBody>({
          id: always(textSchema('The webhook.', ID)),
          deleted: always({ type: 'boolean', const: true, description: 'The webhook was deleted.' }),
        }),
        examples: { deleted: { id: ID, deleted: true } },
      },
    },
    errors: ['NOT_FOUND'],
  };
}

export function describeWebhookRotate(): Operation {
  return {
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Make a new secret',
    description:
      'Both secrets sign until the previous one expires, so a receiver may accept either. Until then another rotation is refused, except with `expire_old_after_sec` 0, which ends both immediately. A project may rotate 100 secrets in 24 hours. The body is optional.',
    parameters: [WEBHOOK_ID],
    request: {
      schemaName: 'WebhookRotateRequest',
      type: WebhookRotateRequest,
      examples: { hour: { expire_old_after_sec: 3600 } },
    },
    answers: {
      200: webhookAnswer('The webhook, with its new secret.', {
        ...WEBHOOK,
        previous_secret_until: '2026-11-20T13:00:00.000Z',
        secret: SECRET,
      }),
    },
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
  };
}

export function describeWebhookTest(): Operation {
  return {
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send an event of the type webhook.test',
    description: 'Sends the event once; `deliveries` shows the result. At most 6 times a minute. The body is optional.',
    parameters: [WEBHOOK_ID],
    request: NOTHING,
    answers: { 202: deliveryAnswer('The delivery will be sent within a second.') },
    errors: ['NOT_FOUND'],
  };
}

export function describeWebhookReplay(): Operation {
  return {
    operationId: 'replayWebhook',
    tag: 'Webhooks',
    summary: 'Send events again',
    description:
      'Sends up to 10 000 events after a position again, with their original ids, after any new events. A webhook can have one replay at a time, and a project may replay 100 000 events in 24 hours.',
    parameters: [WEBHOOK_ID],
    request: { schemaName: 'WebhookReplayRequest', type: WebhookReplayRequest, examples: { all: { after: 0 } } },
    answers: {
      202: {
        description: 'The events are being sent.',
        schemaName: 'WebhookReplay',
        schema: answerSchema<ReplayBody>({
          events: always(integerSchema('Number of events.', 17)),
          last_position: always(integerSchema('Position of the last event. Continue after it if there are more.', 42)),
        }),
        examples: { replay: { events: 17, last_position: 42 } },
      },
    },
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
  };
}

export function describeDeliveries(): Operation {
  return {
    operationId: 'listWebhookDeliveries',
    tag: 'Webhooks',
    summary: 'List deliveries, newest first',
    description: 'Returns one page. Deliveries are kept as long as events.',
    parameters: [WEBHOOK_ID],
    query: DeliveryListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'WebhookDeliveryPage',
        schema: answerSchema<PageBody<DeliveryBody>>({
          items: always({ type: 'array', items: { $ref: '#/components/schemas/WebhookDelivery' } }),
          next_cursor: sometimes(textSchema('The cursor of the next page. Absent on the last page.', 'ZDEy')),
        }),
        examples: { page: { items: [DELIVERY] } },
      },
    },
    errors: ['NOT_FOUND'],
  };
}

export function describeResend(): Operation {
  return {
    operationId: 'resendWebhookDelivery',
    tag: 'Webhooks',
    summary: 'Send one delivery again',
    description:
      'Sends the delivery immediately, even while the webhook is slowed down. A waiting delivery is sent now; an ended one is repeated as a new delivery. A project may resend 1 000 deliveries in 24 hours. The body is optional.',
    parameters: [WEBHOOK_ID, pathId('delivery', 'The id of the delivery.')],
    request: NOTHING,
    answers: { 202: deliveryAnswer('The delivery will be sent within a second.') },
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
  };
}
