/** OpenAPI descriptions of the order routes (docs/interface.md §9, §12). */
import {
  addressSchema,
  always,
  answerSchema,
  decimalSchema,
  flagSchema,
  formSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Members,
  type Operation,
  type Parameter,
} from '../../platform/http/openapi/openapi.js';
import { feeLimitCappedSchema, itemsSchema } from '../quotes/quote.openapi.js';
import { headerSchema } from '../../platform/http/openapi/answer-headers.js';
import type { JsonSchema } from '../../platform/http/body/member-rules.js';
import {
  OrderListQuery,
  OrderRequest,
  type Compensation,
  type Delegation,
  type Extension,
  type OrderBody,
} from './orders.dto.js';
import type { MeasuredUse } from './measured-use.js';
import type { OrderPage } from './order-list.js';
import { ORDER_STATUSES } from '../../domain/order-state.js';

const TXID = 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00';
const txidSchema = (description: string): JsonSchema => textSchema(description, TXID, { pattern: '^[0-9a-f]{64}$' });

const DELEGATION = answerSchema<Delegation>({
  owner_address: always(addressSchema("The pool's wallet that delegates.")),
  txid: always(txidSchema('Transaction that delegates.')),
  resource: sometimes({
    type: 'string',
    const: 'BANDWIDTH',
    description: 'Present for a delegation of bandwidth. Any other delegates energy.',
  }),
  energy: sometimes(
    integerSchema('Delivered energy, once its block is known. It changes with the total stake of the network.', 65_010),
  ),
  bandwidth: sometimes(integerSchema('Delivered units of bandwidth, once its block is known.', 10_005)),
  amount_sun: always(integerSchema('The stake delegated, in sun.', 5_001_000_000)),
  block_number: sometimes(integerSchema('Block of the transaction, once included.', 70_000_000)),
  reclaim_txid: sometimes(txidSchema('Transaction that reclaims the delegation, once sent.')),
});

const COMPENSATION = answerSchema<Compensation>({
  credits: always(integerSchema('Credits returned.', 1_000_000)),
  at: always(timeSchema("Time, by the service's clock.")),
  reason: always(textSchema('Reason.', 'The energy was reclaimed ten minutes early.')),
});

const EXTENSION = answerSchema<Extension>({
  key: always(textSchema('The Idempotency-Key of the purchase.', 'payout-2026-11-20-17-longer')),
  duration_sec: always(integerSchema('Seconds added to the rental.', 3600)),
  expected_uses: sometimes(integerSchema('Uses in the added time, as sent or as a refill counts them.', 1)),
  credits: always(integerSchema('Credits charged for the extension.', 8_775_000)),
  price_per_use_sun: sometimes(
    integerSchema(
      'Price of the extension divided by expected_uses, in sun, rounded up. Absent without them.',
      2_925_000,
    ),
  ),
  fee_limit_sun: sometimes(
    integerSchema('As fee_limit_sun of the order, at the energy price of the extension.', 6_500_000),
  ),
  fee_limit_capped: sometimes(feeLimitCappedSchema()),
  at: always(timeSchema("Time of the charge, by the service's clock.")),
});

const MEASURED = answerSchema<MeasuredUse>({
  used_energy: always(integerSchema("Energy that the receiver's calls took from stake while the rental ran.", 64_285)),
  calls: always(integerSchema('Number of these calls.', 1)),
  last_block: always(integerSchema('The newest block with a use.', 70_000_020)),
  saved_sun: sometimes(
    integerSchema(
      'Cost of burning TRX for used_energy at the energy price of the order, minus the price of its energy and extensions. Negative while little was used. Absent if the energy price is not recorded.',
      3_503_500,
    ),
  ),
  saved_trx: sometimes(decimalSchema('The same in TRX.', 6, '3.503500')),
  is_final: always(flagSchema('True once every block of the rental was read: these figures no longer change.')),
});

/** The schema of every member of an order. Other representations of an order reuse them. */
export const ORDER_MEMBERS = {
  id: always(integerSchema('The number of the order.', 4711)),
  key: always(
    textSchema("The order's key: your Idempotency-Key, or one that the service made.", 'payout-2026-11-20-17'),
  ),
  idempotency_key: always(textSchema('The same as key.', 'payout-2026-11-20-17')),
  kind: always(textSchema('Kind of purchase.', 'rental', { enum: ['rental', 'activation'] })),
  status: always(
    textSchema(
      'reserved: charged, nothing sent. placed: a transaction may have been sent. delivered: the transaction is in a block. unresolved: outcome unknown; resolves itself. refunded: it will never be delivered, and the charge was refunded.',
      'delivered',
      { enum: ORDER_STATUSES },
    ),
  ),
  receive_address: always(addressSchema('Receiver of the energy, or the activated address.')),
  energy: sometimes(integerSchema('Energy bought. Rentals only.', 65_000)),
  bandwidth: sometimes(integerSchema('Units of bandwidth bought beside the energy. Absent without.', 10_000)),
  duration_sec: sometimes(integerSchema('Seconds of rental. Rentals only.', 3600)),
  expected_uses: sometimes(integerSchema('As sent, as in the quote, or as a refill counts them. Otherwise absent.', 1)),
  price_sun: always(integerSchema('Price in sun.', 2_925_000)),
  price_trx: always(decimalSchema('The same in TRX.', 6, '2.925000')),
  price_usd: always(decimalSchema('Value of the charged credits in dollars.', 6, '0.877500')),
  credits: always(integerSchema('Credits charged.', 8_775_000)),
  trx_usd: always(decimalSchema('Dollars per TRX used for the price.', 8, '0.30000000')),
  items: sometimes(itemsSchema()),
  price_per_use_sun: sometimes(
    integerSchema('Price divided by expected_uses, in sun, rounded up. Absent without them.', 2_925_000),
  ),
  fee_limit_sun: sometimes(
    integerSchema(
      'The least fee_limit of a transaction that spends all of the energy, at the energy price of the order. The chain stops a call at its fee_limit, even when rented energy is left.',
      6_500_000,
    ),
  ),
  fee_limit_capped: sometimes(feeLimitCappedSchema()),
  delivered_energy: sometimes(
    integerSchema(
      'Energy in the delivering block; never less than energy. During the rental, a shortfall of more than 1 % is topped up if the pool has room, which adds an entry to delegations.',
      65_010,
    ),
  ),
  delivered_bandwidth: sometimes(
    integerSchema('Units of bandwidth in the delivering block; never less than bandwidth.', 10_005),
  ),
  kept_credits: sometimes(
    integerSchema(
      'Credits of a refunded order that were not returned: its activation was made and is final. Otherwise absent.',
      3_300_000,
    ),
  ),
  settled: always(flagSchema('True if final: solid on chain, or refunded. Poll for this.')),
  needs_attention: always(flagSchema('True if the operator should check the order. The service keeps resolving it.')),
  error: sometimes(
    textSchema(
      'Reason of a refunded or unresolved order.',
      'The energy could not be delivered; the charge was given back.',
    ),
  ),
  error_code: sometimes(textSchema('Code of error: SUPPLIER_REFUSED or SUPPLIER_UNKNOWN.', 'SUPPLIER_REFUSED')),
  reference: sometimes(textSchema('Your label, to list orders by.', 'invoice 2026-1107')),
  metadata: sometimes({
    type: 'object',
    description: 'Your texts by name.',
    additionalProperties: { type: 'string' },
    examples: [{ customer: '4711' }],
  }),
  created_at: always(timeSchema("Time of the charge, by the service's clock.")),
  delivered_at: sometimes(timeSchema("Time of the delivering block, by the chain's clock.")),
  ends_at: sometimes(timeSchema("End of the rental, by the chain's clock.")),
  reclaimed_at: sometimes(timeSchema("Time when the energy was reclaimed, by the chain's clock.")),
  ended_early_by: sometimes(txidSchema('Transaction by which another party ended a delegation of the order early.')),
  extensions: sometimes({
    type: 'array',
    description:
      'Extensions of the rental. Price, credits and duration_sec of the order are those of its first purchase.',
    items: EXTENSION,
  }),
  compensations: sometimes({
    type: 'array',
    description:
      'Compensations for an order that was not delivered as sold; at most the cost of the order and its extensions.',
    items: COMPENSATION,
  }),
  delegations: sometimes({
    type: 'array',
    description: 'The delegations of a rental, including those added during it.',
    items: DELEGATION,
  }),
  measured_use: sometimes({
    ...MEASURED,
    description:
      'The use of the receiver, from solid blocks. Absent until a use was seen, in events, and for test projects. No charge depends on it.',
  }),
  txid: sometimes(txidSchema('Transaction of the activation, once known.')),
  test: sometimes({ type: 'boolean', const: true, description: 'Present for orders of test projects only.' }),
} satisfies Members<OrderBody>;
export const ORDER_ANSWER = answerSchema<OrderBody>(ORDER_MEMBERS);

/** An example order. `satisfies` keeps its exact type, so that derived examples know its members. */
export const RENTAL = {
  id: 4711,
  key: 'payout-2026-11-20-17',
  idempotency_key: 'payout-2026-11-20-17',
  kind: 'rental',
  status: 'reserved',
  receive_address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  energy: 65_000,
  duration_sec: 3600,
  price_sun: 2_925_000,
  price_trx: '2.925000',
  price_usd: '0.877500',
  credits: 8_775_000,
  trx_usd: '0.30000000',
  fee_limit_sun: 6_500_000,
  settled: false,
  needs_attention: false,
  created_at: '2026-11-20T12:00:00.000Z',
  delegations: [],
} satisfies OrderBody;

export const DELIVERED_EXAMPLE: OrderBody = {
  ...RENTAL,
  status: 'delivered',
  delivered_energy: 65_010,
  delivered_at: '2026-11-20T12:00:03.000Z',
  ends_at: '2026-11-20T13:00:03.000Z',
  delegations: [
    {
      owner_address: 'TMNy1ryW4Fe9CbCYtHzMRnXfyngAZ6seeX',
      txid: TXID,
      energy: 65_010,
      amount_sun: 5_001_000_000,
      block_number: 70_000_000,
    },
  ],
};

const {
  energy: _energy,
  duration_sec: _duration,
  fee_limit_sun: _feeLimit,
  delegations: _delegations,
  ...COMMON
} = RENTAL;
const ACTIVATION: OrderBody = {
  ...COMMON,
  kind: 'activation',
  price_sun: 1_200_000,
  price_trx: '1.200000',
  price_usd: '0.360000',
  credits: 3_600_000,
};

export const PURCHASE_PARAMETERS: readonly Parameter[] = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes retries safe: the same key with the same request always returns the same order. If you send none, the service makes one and returns it in every answer, errors included; retry with it. A key that begins with nonce_ (made for a request signed by HMAC) can only be read.',
    schema: { type: 'string', maxLength: 255, pattern: '^[\\x21-\\x7e]+(?: +[\\x21-\\x7e]+)*$' },
  },
  {
    name: 'Prefer',
    in: 'header',
    description: 'wait=N (1 to 30): holds the answer until the order is delivered or refunded, for N seconds at most.',
    schema: { type: 'string', examples: ['wait=10'] },
  },
];

export const REPLAYED = {
  'Idempotency-Replayed': headerSchema('true if an earlier request with the same key made this order.', false),
};

/** Returns the two answers of a purchase, for the first request and for replays. */
export function purchaseAnswers(kind: 'rental' | 'activation'): Operation['answers'] {
  const order = { schemaName: 'Order', schema: ORDER_ANSWER };
  return {
    200: {
      ...order,
      description: 'Delivered or refunded.',
      examples: {
        delivered: kind === 'rental' ? DELIVERED_EXAMPLE : { ...ACTIVATION, status: 'delivered', txid: TXID },
      },
      headers: REPLAYED,
    },
    202: {
      ...order,
      description: 'Charged; delivery is in progress.',
      examples: { reserved: kind === 'rental' ? RENTAL : ACTIVATION },
      headers: { ...REPLAYED, Location: headerSchema('The path of the order.', true) },
    },
  };
}

export function describeOrder(): Operation {
  const { receive_address } = RENTAL;
  return {
    operationId: 'createOrder',
    tag: 'Orders',
    summary: 'Buy energy',
    description:
      "Charges the project's credits and delivers: energy, and with bandwidth and activate all that the receiver's transfer would otherwise burn TRX for. Send quote_ref, receive_address or both. A refusal makes no order and no charge, and the key stays free. Not rate limited.",
    parameters: PURCHASE_PARAMETERS,
    request: {
      schemaName: 'OrderRequest',
      type: OrderRequest,
      forms: [formSchema('by quote', 'quote_ref'), formSchema('direct', 'receive_address', ['quote_ref'])],
      examples: {
        quoted: { quote_ref: 'AdWk1mYwZ3h2c0Y5bXJ2a2V4YW1wbGUtcmVmLW5vdC1yZWRlZW1hYmxl' },
        direct: { receive_address, energy: 65_000, duration_sec: 3600 },
        complete: { receive_address, energy: 65_000, bandwidth: 10_000, activate: true },
        labelled: { receive_address, reference: 'invoice 2026-1107', metadata: { customer: '4711' } },
      },
    },
    answers: purchaseAnswers('rental'),
    errors: [
      'IDEMPOTENCY_KEY_REQUIRED',
      'QUOTE_REQUIRED',
      'INSUFFICIENT_CREDITS',
      'SPEND_CAP_REACHED',
      'QUOTE_NOT_FOUND',
      'NOT_WORTH_RENTING',
      'QUOTE_EXPIRED',
      'QUOTE_ALREADY_USED',
      'QUOTE_MISMATCH',
      'RECEIVER_NOT_ACTIVATED',
      'ALREADY_ACTIVATED',
      'IDEMPOTENCY_KEY_REUSED',
      'RECEIVER_NOT_SUPPORTED',
      'TRANSFER_WOULD_FAIL',
      'CHAIN_UNAVAILABLE',
      'CAPACITY_UNAVAILABLE',
    ],
  };
}

export function describeOrderRead(): Operation {
  return {
    operationId: 'getOrder',
    tag: 'Orders',
    summary: 'Read an order',
    description: 'Returns the order of a key. A key of another project answers NOT_FOUND.',
    parameters: [
      {
        name: 'key',
        in: 'path',
        required: true,
        description: 'The key of the order, percent-encoded.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
    ],
    answers: {
      200: {
        description: 'The current order.',
        schemaName: 'Order',
        schema: ORDER_ANSWER,
        examples: { delivered: DELIVERED_EXAMPLE },
      },
    },
    errors: ['NOT_FOUND'],
  };
}

const PAGE_ANSWER = answerSchema<OrderPage>({
  items: always({ type: 'array', items: { $ref: '#/components/schemas/Order' } }),
  next_cursor: sometimes(textSchema('The cursor of the next page. Absent on the last page.', 'NDcxMQ')),
});

export function describeOrderList(): Operation {
  return {
    operationId: 'listOrders',
    tag: 'Orders',
    summary: 'List orders, newest first',
    description:
      'Pages are ordered by created_at, newest first. A cursor stays valid while new orders arrive, and continues from its place under other filters. With several of `status`, `receive_address` and `reference`, a page before the last may hold fewer orders than `limit`, or none.',
    query: OrderListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'OrderPage',
        schema: PAGE_ANSWER,
        examples: { page: { items: [DELIVERED_EXAMPLE] } },
      },
    },
    errors: [],
  };
}
