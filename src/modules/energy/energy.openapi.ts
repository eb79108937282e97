/** OpenAPI descriptions of the client family's routes (docs/interface.md §25). */
import {
  always,
  answerSchema,
  decimalSchema,
  flagSchema,
  formSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Always,
  type Operation,
  type Sometimes,
} from '../../platform/http/openapi/openapi.js';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import type { JsonSchema } from '../../platform/http/body/member-rules.js';
import { describeOrder, ORDER_MEMBERS, PURCHASE_PARAMETERS, RENTAL, REPLAYED } from '../orders/order.openapi.js';
import { UnlabelledOrderRequest } from '../orders/orders.dto.js';
import { describeQuote } from '../quotes/quote.openapi.js';
import {
  EnergyOrderRequest,
  LEAST_CREDITS,
  TopupRequest,
  UNLIMITED_DEBT,
  type CreditsBalanceBody,
} from './energy.dto.js';
import { ENERGY_STATUSES, type EnergyOrderBody } from './energy-order.js';

/** Returns an order member's schema with a description specific to these routes. */
const as = (member: Always | Sometimes, description: string): JsonSchema => ({ ...member.schema, description });
const OF = ORDER_MEMBERS;

const ENERGY_ORDER_ANSWER = answerSchema<EnergyOrderBody>({
  id: OF.id,
  idempotency_key: always(as(OF.idempotency_key, 'The Idempotency-Key it was bought with.')),
  status: always(
    textSchema(
      'delivered: the energy arrived. refused: it will never arrive, and the charge was refunded. unresolved: charged, outcome unknown; repeat with the same Idempotency-Key, never with another.',
      'delivered',
      { enum: ENERGY_STATUSES },
    ),
  ),
  receive_address: always(as(OF.receive_address, 'Receiver of the energy.')),
  energy: always(as(OF.energy, 'Energy bought.')),
  bandwidth: OF.bandwidth,
  duration_sec: always(as(OF.duration_sec, 'Seconds of rental.')),
  price_sun: OF.price_sun,
  price_trx: OF.price_trx,
  price_usd: sometimes(as(OF.price_usd, 'Value of the credits in dollars. Absent for a refused order.')),
  credits: sometimes(as(OF.credits, 'Credits charged. Absent for a refused order.')),
  trx_usd: sometimes(as(OF.trx_usd, 'Dollars per TRX used for the price. Absent for a refused order.')),
  items: OF.items,
  delivered_energy: sometimes(as(OF.delivered_energy, 'Energy at delivery; never less than energy.')),
  delivered_bandwidth: OF.delivered_bandwidth,
  kept_credits: OF.kept_credits,
  expected_uses: OF.expected_uses,
  price_per_use_sun: OF.price_per_use_sun,
  fee_limit_sun: OF.fee_limit_sun,
  fee_limit_capped: OF.fee_limit_capped,
  settled: always(as(OF.settled, 'True if the outcome is final: solid on chain, or refused.')),
  needs_attention: always(
    as(OF.needs_attention, 'True if the outcome is unknown or the operator should check the order.'),
  ),
  error: sometimes(as(OF.error, 'Reason of a refused or unresolved order.')),
  error_code: sometimes(as(OF.error_code, 'Code of error: SUPPLIER_REFUSED or SUPPLIER_UNKNOWN.')),
  created_at: OF.created_at,
  delivered_at: OF.delivered_at,
});

const { key: _key, kind: _kind, delegations: _delegations, ...CHARGED } = RENTAL;
const { price_usd: _usd, credits: _credits, trx_usd: _rate, ...NOT_CHARGED } = CHARGED;
const REFUSED: EnergyOrderBody = {
  ...NOT_CHARGED,
  status: 'refused',
  settled: true,
  error: 'The energy could not be delivered; the charge was given back.',
  error_code: 'SUPPLIER_REFUSED',
};
const DELIVERED: EnergyOrderBody = {
  ...CHARGED,
  status: 'delivered',
  delivered_energy: 65_010,
  delivered_at: '2026-11-20T12:00:03.000Z',
};
const UNRESOLVED: EnergyOrderBody = {
  ...CHARGED,
  status: 'unresolved',
  needs_attention: true,
  error: 'The order is charged and not delivered yet.',
  error_code: 'SUPPLIER_UNKNOWN',
};

const ORDER = { schemaName: 'EnergyOrder', schema: ENERGY_ORDER_ANSWER };
export function describeEnergyQuote(): Operation {
  return {
    ...describeQuote(),
    operationId: 'createEnergyQuote',
    tag: 'Client family',
    summary: 'Price a rental and hold the price, as POST /v1/quotes',
  };
}

export function describeRent(): Operation {
  const { request, errors } = describeOrder();
  return {
    operationId: 'rentEnergy',
    tag: 'Client family',
    summary: 'Buy energy and wait for it',
    description:
      'Makes the order of POST /v1/orders and answers when it is delivered or refunded, after 50 s at the latest. Without an answer, repeat with the same Idempotency-Key: it buys once. An error with ok false charged nothing, unless it names a key.',
    parameters: PURCHASE_PARAMETERS.filter(({ name }) => name === 'Idempotency-Key').map((parameter) => ({
      ...parameter,
      required: true,
      description: 'Your key, one for each rental. The same key with the same request always returns the same order.',
    })),
    request: {
      schemaName: 'EnergyRentRequest',
      type: UnlabelledOrderRequest,
      forms: [formSchema('by quote', 'quote_ref'), formSchema('direct', 'receive_address', ['quote_ref'])],
      examples: { quoted: request?.examples['quoted'], direct: request?.examples['direct'] },
    },
    answers: {
      200: {
        ...ORDER,
        description: 'Delivered. A replay may also return a refused order.',
        examples: { delivered: DELIVERED, refused: REFUSED },
        headers: REPLAYED,
      },
      409: {
        ...ORDER,
        description: 'With `id` and `status`: charged and not delivered yet. Repeat with the same key.',
        examples: { unresolved: UNRESOLVED },
        headers: REPLAYED,
      },
      502: {
        ...ORDER,
        description: 'Refused: the order will never be delivered, and its charge was refunded.',
        examples: { refused: REFUSED },
      },
    },
    errors,
  };
}

export function describeEnergyOrder(): Operation {
  return {
    operationId: 'getEnergyOrder',
    tag: 'Client family',
    summary: 'Read a rental by its Idempotency-Key',
    description: 'An unknown key, a key of another project and the key of an activation answer NOT_FOUND.',
    request: {
      schemaName: 'EnergyOrderRequest',
      type: EnergyOrderRequest,
      examples: { rental: { key: 'payout-2026-11-20-17' } },
    },
    answers: {
      200: { ...ORDER, description: 'The current order.', examples: { delivered: DELIVERED, refused: REFUSED } },
    },
    errors: ['NOT_FOUND'],
  };
}

const CREDITS_BALANCE_ANSWER = answerSchema<CreditsBalanceBody>({
  credits_balance: always(integerSchema('The balance in credits; negative in debt.', 50_000_000)),
  usd_balance: always(decimalSchema('Value in dollars.', 2, '5.00')),
  is_postpaid: always(flagSchema('True if the balance may be negative.')),
  debt_limit_credits: always(
    integerSchema(
      `Credits that the balance may fall below zero: 0 for prepaid, ${UNLIMITED_DEBT.toString()} without a limit.`,
      0,
    ),
  ),
  can_execute_gas_operations: always(flagSchema('True if gas_ops_min_credits can still be spent.')),
  gas_ops_min_credits: always(
    integerSchema('Least credits for an attempt to order. The order itself needs its price.', LEAST_CREDITS),
  ),
  timestamp: always(timeSchema('Time of the reading.')),
});

export function describeCreditsBalance(): Operation {
  return {
    operationId: 'getCreditsBalance',
    tag: 'Client family',
    summary: "Read the project's balance",
    description: 'Returns the balance of GET /v1/balance. The body is optional when signed by HMAC.',
    request: { schemaName: 'CreditsBalanceRequest', type: EmptyBody, examples: { nothing: {} } },
    answers: {
      200: {
        description: 'The balance.',
        schemaName: 'CreditsBalance',
        schema: CREDITS_BALANCE_ANSWER,
        examples: {
          prepaid: {
            credits_balance: 50_000_000,
            usd_balance: '5.00',
            is_postpaid: false,
            debt_limit_credits: 0,
            can_execute_gas_operations: true,
            gas_ops_min_credits: LEAST_CREDITS,
            timestamp: '2026-11-20T12:00:00.000Z',
          },
        },
      },
    },
    errors: [],
  };
}

interface TopupInvoice {
  readonly invoice_id: number;
  readonly payment_link: string;
  readonly amount: string;
  readonly currency: string;
  readonly status: string;
}

const TOPUP_INVOICE = answerSchema<TopupInvoice>({
  invoice_id: always(integerSchema('The number of the invoice.', 17)),
  payment_link: always(textSchema('Payment link.', 'https://pay.example.com/17')),
  amount: always(textSchema('The amount.', '25.00')),
  currency: always(textSchema('Currency of the payment.', 'USDT')),
  status: always(textSchema('Of a new invoice.', 'pending')),
});

export function describeTopup(): Operation {
  return {
    operationId: 'topUpCredits',
    tag: 'Client family',
    summary: 'Buy credits (not offered)',
    description: 'Always answers 501: this service sells no credits through its API.',
    request: {
      schemaName: 'TopupRequest',
      type: TopupRequest,
      examples: { topup: { amount: '25.00', currency: 'USDT' } },
    },
    answers: {
      200: {
        description: 'This service never sends it. Clients of services that sell credits read this invoice.',
        schemaName: 'TopupInvoice',
        schema: TOPUP_INVOICE,
        examples: {
          invoice: {
            invoice_id: 17,
            payment_link: 'https://pay.example.com/17',
            amount: '25.00',
            currency: 'USDT',
            status: 'pending',
          },
        },
      },
    },
    errors: ['TOPUP_NOT_CONFIGURED'],
  };
}
