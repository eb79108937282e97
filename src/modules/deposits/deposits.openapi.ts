/** OpenAPI description of the deposit routes. */
import { DEPOSIT_ASSETS } from '../../domain/deposit-state.js';
import type { PageBody } from '../../domain/page.js';
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
import {
  DEPOSIT_STATUSES,
  DepositListQuery,
  type AcceptedAsset,
  type DepositAddressBody,
  type DepositBody,
} from './deposits.dto.js';

export const DEPOSIT_ANSWER = answerSchema<DepositBody>({
  id: always(textSchema('The deposit.', 'dep_17')),
  txid: always(
    textSchema('The transaction that paid.', 'd4b43b698d65cd3efe66ca5bcf72bd8b593a124f062a2b88da7e54b03f416b91'),
  ),
  kind: always({
    type: 'string',
    enum: ['native', 'log', 'internal'],
    description: 'A transfer of TRX, an event of the token, or TRX that a contract sent.',
  }),
  position: always(integerSchema("Index among the payments of its kind in the transaction's receipt, from 0.", 0)),
  asset: always({ type: 'string', enum: DEPOSIT_ASSETS, description: 'Asset of the payment.' }),
  amount: always(textSchema('Amount in whole units with six digits.', '12.500000')),
  address: always(textSchema('Your deposit address.', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF')),
  from_address: always(textSchema('Address of the payer.', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF')),
  status: always({
    type: 'string',
    enum: DEPOSIT_STATUSES,
    description: 'pending: not credited yet. held: the operator will decide. credited and ignored are final.',
  }),
  reason: sometimes(textSchema('Reason why it is pending, held or ignored.', 'below_minimum')),
  usd_rate: sometimes(textSchema('Dollars for one whole unit, in the minute of its block.', '0.30000000')),
  credits: sometimes(
    integerSchema('Credited amount, including smaller payments that were credited together with it.', 37_500_000),
  ),
  block_number: always(integerSchema('Block of the payment.', 70_000_000)),
  block_timestamp: always(timeSchema('The time of that block.')),
});

const EXAMPLE: DepositBody = {
  id: 'dep_17',
  txid: 'd4b43b698d65cd3efe66ca5bcf72bd8b593a124f062a2b88da7e54b03f416b91',
  kind: 'native',
  position: 0,
  asset: 'TRX',
  amount: '12.345678',
  address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  from_address: 'TWd4WrZ9wn84f5x1hZhL4DHvk738ns5jwb',
  status: 'credited',
  usd_rate: '0.30000000',
  credits: 37_037_034,
  block_number: 70_000_000,
  block_timestamp: '2026-11-20T12:00:03.000Z',
};

export function describeDepositAddress(): Operation {
  return {
    operationId: 'getDepositAddress',
    tag: 'Deposits',
    summary: 'Read the deposit address',
    description:
      'The address belongs to the project alone and never changes. Each answer derives it again and compares it with the assigned address; if they differ, the answer is 500 without an address. Pay only the assets it accepts.',
    answers: {
      200: {
        description: 'The address and the accepted assets.',
        schemaName: 'DepositAddress',
        schema: answerSchema<DepositAddressBody>({
          address: always(textSchema('The address to pay to.', 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF')),
          network: always(textSchema('The only accepted network.', 'TRON (TRC20)')),
          accepts: always({
            type: 'array',
            items: answerSchema<AcceptedAsset>({
              asset: always({ type: 'string', enum: DEPOSIT_ASSETS, description: 'Accepted asset.' }),
              contract: sometimes(
                textSchema('The only accepted token contract.', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'),
              ),
              minimum: always(
                decimalSchema(
                  'Minimum of a payment. Smaller payments wait until their sum reaches it.',
                  6,
                  '10.000000',
                ),
              ),
              from_contracts: sometimes({
                type: 'boolean',
                description:
                  'For TRX: true if payments from contracts are detected. While false, pay from an ordinary account: payments of an exchange or wallet by contract are not detected.',
              }),
            }),
          }),
        }),
        examples: {
          address: {
            address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
            network: 'TRON (TRC20)',
            accepts: [
              { asset: 'TRX', minimum: '10.000000', from_contracts: true },
              { asset: 'USDT', contract: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', minimum: '5.000000' },
            ],
          },
        },
      },
    },
    errors: ['TOPUP_NOT_CONFIGURED'],
  };
}

export function describeDepositList(): Operation {
  return {
    operationId: 'listDeposits',
    tag: 'Deposits',
    summary: 'List deposits, newest first',
    description: 'Every payment to your addresses with its status.',
    query: DepositListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'DepositPage',
        schema: answerSchema<PageBody<DepositBody>>({
          items: always({ type: 'array', items: DEPOSIT_ANSWER }),
          next_cursor: sometimes(textSchema('The cursor of the next page. Absent on the last page.', 'ZDE3')),
        }),
        examples: { page: { items: [EXAMPLE] }, none: { items: [] } },
      },
    },
    errors: [],
  };
}
