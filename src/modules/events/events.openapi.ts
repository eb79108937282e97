/** OpenAPI descriptions of the event routes (docs/interface.md §26). */
import { DEPOSIT_ANSWER } from '../deposits/deposits.openapi.js';
import {
  always,
  answerSchema,
  decimalSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import { SCOPES } from '../../domain/scopes.js';
import { DELIVERED_EXAMPLE } from '../orders/order.openapi.js';
import { EventListQuery, EventStreamQuery } from './events.dto.js';
import { EVENT_TYPES } from '../../domain/event-types.js';
import {
  type EventBody,
  type EventData,
  type KeyBody,
  type LowBalanceBody,
  type ProjectSnapshot,
  type WebhookBody,
} from './payload.js';

const EVENT_ANSWER = answerSchema<EventBody>({
  id: always(
    textSchema('Permanent ID of the event, the same in every delivery.', 'evt_5f2b8c1d9e7a4036b1c2d3e4f5061728'),
  ),
  type: always(textSchema('Type of the event.', 'order.delivered', { enum: EVENT_TYPES })),
  position: always(integerSchema("Position in the project's log. Positions rise and may have gaps.", 119)),
  timestamp: always(timeSchema("Time of the event, by the service's clock.")),
  chain_timestamp: sometimes(timeSchema('Time of its block, if it has one.')),
  test: sometimes({ type: 'boolean', const: true, description: 'Present for test projects only.' }),
  data: always(
    answerSchema<EventData>({
      order: sometimes({ $ref: '#/components/schemas/Order' }),
      key: sometimes(
        answerSchema<KeyBody>({
          id: always(textSchema('The API key; not its secret.', '9b1f7a1e-52a4-4f0c-8d1b-0c6f8f5a2d3e')),
          name: always(textSchema('Name of the API key.', 'reports')),
          is_primary: always({ type: 'boolean', description: 'True for the primary key.' }),
          scopes: always({ type: 'array', items: { type: 'string', enum: SCOPES } }),
          previous_until: sometimes(timeSchema("End of the previous secret's validity.")),
        }),
      ),
      project: sometimes(
        answerSchema<ProjectSnapshot['project']>({
          id: always(textSchema('The project.', '3f0e4a52-8f0b-4c0e-9f1d-6a1f2f6d7c11')),
          name: always(textSchema('Name of the project.', 'payouts')),
          frozen: always({ type: 'boolean', description: 'True if the project was frozen at that time.' }),
        }),
      ),
      deposit: sometimes(DEPOSIT_ANSWER),
      auto_delegation: sometimes({ $ref: '#/components/schemas/AutoDelegation' }),
      balance: sometimes(
        answerSchema<LowBalanceBody>({
          credits_balance: always(
            integerSchema('The balance in credits after the change; negative in debt.', 48_000_000),
          ),
          usd_balance: always(decimalSchema('Value in dollars.', 2, '4.80')),
          low_balance_credits: always(integerSchema('Threshold below which the balance fell.', 50_000_000)),
        }),
      ),
      statement: sometimes({ $ref: '#/components/schemas/Statement' }),
      webhook: sometimes(
        answerSchema<WebhookBody>({
          id: always(textSchema('The webhook.', 'wh_6c2f0b8a1d')),
          url: always(
            textSchema(
              'The URL without path and query, which may contain a secret token.',
              'https://example.com/hooks',
            ),
          ),
          types: sometimes({ type: 'array', items: { type: 'string' } }),
          description: always(textSchema("The owner's description.", 'production')),
          enabled: always({ type: 'boolean', description: 'True if events are sent to it.' }),
          disabled_reason: sometimes(textSchema('Reason why it is disabled.', 'gone')),
          deleted: always({ type: 'boolean', description: 'True if it was deleted.' }),
        }),
      ),
    }),
  ),
});

const DELIVERED: EventBody = {
  id: 'evt_5f2b8c1d9e7a4036b1c2d3e4f5061728',
  type: 'order.delivered',
  position: 119,
  timestamp: '2026-11-20T12:00:03.412Z',
  chain_timestamp: '2026-11-20T12:00:03.000Z',
  data: { order: DELIVERED_EXAMPLE },
};

interface EventPageBody {
  readonly items: readonly EventBody[];
  readonly last_position: number;
}

export function describeEventList(): Operation {
  return {
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'Read events in order',
    description:
      'A reader that continues after `last_position` gets every event of the project once and in order; events of one object come in the order of its changes. With `wait`, the answer is held until there is an event or that time has passed. A project may hold 20 such requests concurrently in each process.',
    query: EventListQuery,
    answers: {
      200: {
        description:
          'The events and the position to continue after. The position also covers events that `types` filtered out.',
        schemaName: 'EventPage',
        schema: answerSchema<EventPageBody>({
          items: always({ type: 'array', items: EVENT_ANSWER }),
          last_position: always(integerSchema('Send it as `after` next.', 119)),
        }),
        examples: { page: { items: [DELIVERED], last_position: 119 }, nothing: { items: [], last_position: 119 } },
      },
    },
    errors: ['EVENTS_EXPIRED'],
  };
}

export function describeEventStream(): Operation {
  return {
    operationId: 'streamEvents',
    tag: 'Events',
    summary: 'Follow events as they come',
    description:
      'Server-Sent Events: `id` is the position, `data` the event as JSON. A stream ends after an hour at the latest, and when the client reads nothing for some seconds. Continue with `Last-Event-ID`; it takes precedence over `after`. After 15 s without an event, a comment carries the current position. A project may have 10 open streams in each process.',
    parameters: [
      {
        name: 'Last-Event-ID',
        in: 'header',
        description: 'The last id received; the stream continues after it.',
        schema: { type: 'string', pattern: '^(?:0|[1-9][0-9]{0,15})$' },
      },
    ],
    query: EventStreamQuery,
    answers: {
      200: {
        description: 'The stream.',
        mediaType: 'text/event-stream',
        schemaName: 'EventStream',
        schema: {
          type: 'string',
          description: 'Lines of text: `id: 119`, `data: {…}`, and an empty line after each event.',
        },
        examples: { event: `id: 119\ndata: ${JSON.stringify(DELIVERED)}\n\n`, nothing: ':\nid: 119\n\n' },
      },
    },
    errors: ['EVENTS_EXPIRED'],
  };
}
