/** OpenAPI descriptions of the extension routes (docs/interface.md §30). */
import { type Operation } from '../../platform/http/openapi/openapi.js';
import { ExtensionRequest } from './extensions.dto.js';
import { DELIVERED_EXAMPLE, ORDER_ANSWER, PURCHASE_PARAMETERS, REPLAYED } from './order.openapi.js';
import type { OrderBody } from './orders.dto.js';

const EXTENDED_EXAMPLE: OrderBody = {
  ...DELIVERED_EXAMPLE,
  settled: true,
  ends_at: '2026-11-20T14:00:03.000Z',
  extensions: [
    {
      key: 'payout-2026-11-20-17-longer',
      duration_sec: 3600,
      credits: 8_775_000,
      fee_limit_sun: 6_500_000,
      at: '2026-11-20T12:30:00.000Z',
    },
  ],
};

export function describeExtension(): Operation {
  const [key] = PURCHASE_PARAMETERS.filter(({ name }) => name === 'Idempotency-Key');
  return {
    operationId: 'extendOrder',
    tag: 'Orders',
    summary: 'Extend a running rental',
    description:
      'Moves the end of a settled rental, without a transaction or a gap. The price is that of a direct order of the same energy and time, without the minimum price. The remaining time may not exceed the longest duration on sale. A refusal changes and charges nothing. Not rate limited; signed by HMAC only.',
    parameters: [
      {
        name: 'key',
        in: 'path',
        required: true,
        description: 'The key of the order, percent-encoded.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
      ...(key === undefined ? [] : [{ ...key, required: true as const, description: EXTENSION_KEY }]),
    ],
    request: {
      schemaName: 'ExtensionRequest',
      type: ExtensionRequest,
      examples: { anHour: { duration_sec: 3600 } },
    },
    answers: {
      200: {
        description: 'The current order with its new end, also for a replay.',
        schemaName: 'Order',
        schema: ORDER_ANSWER,
        examples: { extended: EXTENDED_EXAMPLE },
        headers: REPLAYED,
      },
    },
    errors: [
      'IDEMPOTENCY_KEY_REQUIRED',
      'INSUFFICIENT_CREDITS',
      'SPEND_CAP_REACHED',
      'NOT_FOUND',
      'NOT_EXTENDABLE',
      'NOT_WORTH_RENTING',
      'IDEMPOTENCY_KEY_REUSED',
      'CHAIN_UNAVAILABLE',
      'CAPACITY_UNAVAILABLE',
    ],
  };
}

const EXTENSION_KEY =
  'Makes retries safe: the same key with the same request extends only once. Orders and extensions share one set of keys.';
