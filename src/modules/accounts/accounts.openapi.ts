/** OpenAPI description of the account routes (docs/interface.md §14, §15). */
import {
  always,
  answerSchema,
  decimalSchema,
  integerSchema,
  sometimes,
  timeSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import { PURCHASE_PARAMETERS, purchaseAnswers } from '../orders/order.openapi.js';
import { ActivationRequest, type BalanceBody } from './accounts.dto.js';

const BALANCE_ANSWER = answerSchema<BalanceBody>({
  credits_balance: always(integerSchema('The balance in credits; negative in debt.', 50_000_000)),
  usd_balance: always(decimalSchema('Value in dollars.', 2, '5.00')),
  is_postpaid: always({ type: 'boolean', description: 'True if the balance may be negative.' }),
  debt_limit_credits: sometimes(
    integerSchema('Credits that the balance may fall below zero: 0 for prepaid, absent without a limit.', 0),
  ),
  available_credits: sometimes(integerSchema('Credits that can still be spent; absent without a limit.', 50_000_000)),
  timestamp: always(timeSchema('Time of the reading.')),
});

export function describeActivation(): Operation {
  return {
    operationId: 'activateAccount',
    tag: 'Accounts',
    summary: 'Activate an account that is not on chain yet',
    description:
      "Makes an order of kind activation. Charges the chain's fee and a markup. Refunds the charge if another party activates the account first.",
    parameters: PURCHASE_PARAMETERS,
    request: {
      schemaName: 'ActivationRequest',
      type: ActivationRequest,
      examples: { activation: { address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF' } },
    },
    answers: purchaseAnswers('activation'),
    errors: [
      'IDEMPOTENCY_KEY_REQUIRED',
      'INSUFFICIENT_CREDITS',
      'SPEND_CAP_REACHED',
      'ALREADY_ACTIVATED',
      'IDEMPOTENCY_KEY_REUSED',
      'CHAIN_UNAVAILABLE',
      'CAPACITY_UNAVAILABLE',
    ],
  };
}

export function describeBalance(): Operation {
  return {
    operationId: 'getBalance',
    tag: 'Accounts',
    summary: "Read the project's balance",
    description: 'With MD5, sign the empty string: the request has no body.',
    answers: {
      200: {
        description: 'The balance.',
        schemaName: 'Balance',
        schema: BALANCE_ANSWER,
        examples: {
          prepaid: {
            credits_balance: 50_000_000,
            usd_balance: '5.00',
            is_postpaid: false,
            debt_limit_credits: 0,
            available_credits: 50_000_000,
            timestamp: '2026-11-20T12:00:00.000Z',
          },
        },
      },
    },
    errors: [],
  };
}
