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
} from '../http/openapi/openapi.js';
import type { JsonSchema } from '../http/body/member-rules.js';
import { describeOrder, ORDER_MEMBERS, PURCHASE_PARAMETERS, RENTAL, REPLAYED } from '../orders/order.openapi.js';
import { UnlabelledOrderRequest } from '../orders/orders.dto.js';
import { describeQuote } from '../quotes/quote.openapi.js';
import {
  CreditsBalanceRequest,
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
      'delivered: the energy is there. refused: it will never be, and the charge is back. unresolved: charged, and its ' +
        'outcome not known yet; repeat with the same Idempotency-Key, never with another.',
      'delivered',
      { enum: ENERGY_STATUSES },
    ),
  ),
  receive_address: always(as(OF.receive_address, 'Receiver of the energy.')),
  energy: always(as(OF.energy, 'Energy bought.')),
  duration_sec: always(as(OF.duration_sec, 'Seconds of rental.')),
  price_sun: OF.price_sun,
  price_trx: OF.price_trx,
  price_usd: sometimes(as(OF.price_usd, 'Value of the credits in dollars; absent for a refused order.')),
  credits: sometimes(as(OF.credits, 'Credits charged; not of a refused order.')),
  trx_usd: sometimes(as(OF.trx_usd, 'The rate that was used; not of a refused order.')),
  delivered_energy: sometimes(as(OF.delivered_energy, 'Energy delivered, once delivered; never less than energy.')),
  settled: always(as(OF.settled, 'The outcome is final: solid on chain, or refused.')),
  needs_attention: always(
    as(OF.needs_attention, 'The outcome is not known yet, or the operator should look at the order.'),
  ),
  error: sometimes(as(OF.error, 'Reason of a refused or unresolved order.')),
  error_code: sometimes(as(OF.error_code, 'The same for programs: SUPPLIER_REFUSED, SUPPLIER_UNKNOWN.')),
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
      'The order of POST /v1/orders, answered when it is delivered or refunded, 50 s after its arrival at the latest. ' +
      'Repeat with the same Idempotency-Key after anything else than an answer: it buys once. An error with ok false ' +
      'charged nothing, unless it names a key.',
    parameters: PURCHASE_PARAMETERS.filter(({ name }) => name === 'Idempotency-Key').map((parameter) => ({
      ...parameter,
      required: true,
      description: 'Yours, one for each rental: the same key with the same request answers the same order, for ever.',
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
        description: 'Delivered; of a replay also refused.',
        examples: { delivered: DELIVERED, refused: REFUSED },
        headers: REPLAYED,
      },
      409: {
        ...ORDER,
        description: 'With `id` and `status`: charged, and not delivered yet. Repeat with the same key.',
        examples: { unresolved: UNRESOLVED },
        headers: REPLAYED,
      },
      502: {
        ...ORDER,
        description: 'Refused: it will never be delivered, and the charge is back.',
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
    description: 'A key that is unknown, of another project or of an activation is not found.',
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
    integerSchema(`How far below zero it may go: 0 for prepaid, ${UNLIMITED_DEBT.toString()} without a limit.`, 0),
  ),
  can_execute_gas_operations: always(flagSchema('True if gas_ops_min_credits can still be spent.')),
  gas_ops_min_credits: always(
    integerSchema(
      'Minimum of credits for an attempt to order. The order itself is judged by its price.',
      LEAST_CREDITS,
    ),
  ),
  timestamp: always(timeSchema('When it was read.')),
});

export function describeCreditsBalance(): Operation {
  return {
    operationId: 'getCreditsBalance',
    tag: 'Client family',
    summary: "Read the project's balance",
    description: 'The balance of GET /v1/balance. Signed by HMAC the body may be left out.',
    request: { schemaName: 'CreditsBalanceRequest', type: CreditsBalanceRequest, examples: { nothing: {} } },
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
  payment_link: always(textSchema('Where to pay it.', 'https://pay.example.com/17')),
  amount: always(textSchema('The amount.', '25.00')),
  currency: always(textSchema('Currency of the payment.', 'USDT')),
  status: always(textSchema('Of a new invoice.', 'pending')),
});

export function describeTopup(): Operation {
  return {
    operationId: 'topUpCredits',
    tag: 'Client family',
    summary: 'Not offered: buy credits',
    description: 'Answers 501 whatever the amount: this service sells no credits over its interface.',
    request: {
      schemaName: 'TopupRequest',
      type: TopupRequest,
      examples: { topup: { amount: '25.00', currency: 'USDT' } },
    },
    answers: {
      200: {
        description: 'Never from this service: the invoice that those clients read where credits are sold.',
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
