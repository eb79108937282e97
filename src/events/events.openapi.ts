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
} from '../http/openapi/openapi.js';
import { SCOPES } from '../domain/scopes.js';
import { DELIVERED_EXAMPLE } from '../orders/order.openapi.js';
import { EventListQuery, EventStreamQuery } from './events.dto.js';
import {
  EVENT_TYPES,
  type EventBody,
  type EventData,
  type KeyBody,
  type LowBalanceBody,
  type ProjectSnapshot,
  type WebhookBody,
} from './payload.js';

const EVENT_ANSWER = answerSchema<EventBody>({
  id: always(
    textSchema('Names the event for ever; the same wherever it is sent.', 'evt_5f2b8c1d9e7a4036b1c2d3e4f5061728'),
  ),
  type: always(textSchema('Type of the event.', 'order.delivered', { enum: EVENT_TYPES })),
  position: always(integerSchema('Its place in the log of the project; rises, and may leave places out.', 119)),
  timestamp: always(timeSchema('When it happened, by the clock of the service.')),
  chain_timestamp: sometimes(timeSchema('The time of its block, where it has one.')),
  test: sometimes({ type: 'boolean', const: true, description: 'Present when its project is a test project.' }),
  data: always(
    answerSchema<EventData>({
      order: sometimes({ $ref: '#/components/schemas/Order' }),
      key: sometimes(
        answerSchema<KeyBody>({
          id: always(textSchema('The API key; not its secret.', '9b1f7a1e-52a4-4f0c-8d1b-0c6f8f5a2d3e')),
          name: always(textSchema('Its name.', 'reports')),
          is_primary: always({ type: 'boolean', description: 'True for the primary key.' }),
          scopes: always({ type: 'array', items: { type: 'string', enum: SCOPES } }),
          previous_until: sometimes(timeSchema('Until when the secret before verifies.')),
        }),
      ),
      project: sometimes(
        answerSchema<ProjectSnapshot['project']>({
          id: always(textSchema('The project.', '3f0e4a52-8f0b-4c0e-9f1d-6a1f2f6d7c11')),
          name: always(textSchema('Its name.', 'payouts')),
          frozen: always({ type: 'boolean', description: 'True if it was frozen at that time.' }),
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
          low_balance_credits: always(integerSchema('The threshold that the balance fell below.', 50_000_000)),
        }),
      ),
      statement: sometimes({ $ref: '#/components/schemas/Statement' }),
      webhook: sometimes(
        answerSchema<WebhookBody>({
          id: always(textSchema('The webhook.', 'wh_6c2f0b8a1d')),
          url: always(
            textSchema(
              'Its URL without path and query, which may hold a token of the receiver.',
              'https://example.com/hooks',
            ),
          ),
          types: sometimes({ type: 'array', items: { type: 'string' } }),
          description: always(textSchema('As its owner wrote it.', 'production')),
          enabled: always({ type: 'boolean', description: 'True if events are sent to it.' }),
          disabled_reason: sometimes(textSchema('Why it is not.', 'gone')),
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
      'A reader that continues after `last_position` gets every event of the project once and in order, those of one object in ' +
      'the order of its changes. With `wait` the answer is held until there is an event, at most so long. ' +
      'A project may hold 20 of these at the same time in each process.',
    query: EventListQuery,
    answers: {
      200: {
        description: 'The events and the position to continue after, which also passes events that `types` left out.',
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
      'Server-Sent Events: `id` is the position, `data` the event as JSON. Ends after an hour at the latest, and whenever ' +
      'you take nothing for some seconds; go on with `Last-Event-ID`, which goes before `after`. When there is nothing to ' +
      'send for 15 s a comment comes with the position passed so far. A project may have 10 streams open in each process.',
    parameters: [
      {
        name: 'Last-Event-ID',
        in: 'header',
        description: 'The last id that was received, to go on after it.',
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
          description: 'Lines of text: `id: 119`, `data: {…}`, and an empty one after each event.',
        },
        examples: { event: `id: 119\ndata: ${JSON.stringify(DELIVERED)}\n\n`, nothing: ':\nid: 119\n\n' },
      },
    },
    errors: ['EVENTS_EXPIRED'],
  };
}
