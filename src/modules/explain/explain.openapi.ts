/** OpenAPI description of GET /v1/explain/{txid} (docs/interface.md §33). */
import {
  addressSchema,
  always,
  answerSchema,
  flagSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import { CAUSE_CODES } from './explain-causes.js';
import type { CauseBody, ExplainedRentalBody, ExplanationBody } from './explain.dto.js';

const EXAMPLE_TXID = '7c2d4206c03a883dd9066d6c839b5e1a0fbf9fb8ac1b2c3d4e5f60718293a4b5';
const txid = (description: string) => textSchema(description, EXAMPLE_TXID, { pattern: '^[0-9a-f]{64}$' });

const CAUSE = answerSchema<CauseBody>({
  code: always(textSchema('Stable code of the cause.', 'RECIPIENT_WITHOUT_TOKEN', { enum: CAUSE_CODES })),
  sentence: always(textSchema('The cause in one sentence.', 'No rental was running.')),
  next: always(textSchema('The next step of the caller.', 'Wait until the order is `delivered` before you send.')),
  burn_sun: always(integerSchema('TRX that it burnt, in sun. Several causes of one burn share it.', 6_600_000)),
  order_key: sometimes(textSchema('Idempotency-Key of the order concerned, if it is one.', 'payout-17')),
  txid: sometimes(txid('An earlier transaction that used the energy, if it was found.')),
});

const RENTAL = answerSchema<ExplainedRentalBody>({
  order_key: always(textSchema('Idempotency-Key of the order.', 'payout-17')),
  running_energy: always(integerSchema('Energy delegated to the sender when the transaction ran.', 65_000)),
  later_energy: always(integerSchema('Energy that arrived after it, or has not arrived.', 0)),
  ended_energy: always(integerSchema('Energy that had been taken back before it.', 0)),
  arrived_block: sometimes(integerSchema('First block with energy that arrived later, if there is one.', 68_000_010)),
  ended_block: sometimes(integerSchema('Last block that had taken energy back, if there is one.', 68_000_000)),
});

const inBlock = (description: string, example: number) =>
  sometimes(integerSchema(`${description} Absent while it is in no block.`, example));

const EXPLANATION = answerSchema<ExplanationBody>({
  txid: always(txid('The transaction, in lower case.')),
  sentence: always(textSchema('Outcome and weightiest cause in one sentence.', 'The token transfer burnt nothing.')),
  solid: always(flagSchema('True once its block is final. Until then the answer may change.')),
  owner_address: always(addressSchema('The sender, which pays for the transaction.')),
  receive_address: always(addressSchema('The address of your orders that takes part in it.')),
  contract_address: sometimes(addressSchema('The called contract. Only of a call.')),
  to_address: sometimes(addressSchema('The recipient. Only of a transfer or account creation.')),
  result: sometimes(textSchema('TRON’s result. Absent while it is in no block.', 'OUT_OF_ENERGY')),
  block_number: inBlock('Its block.', 68_000_000),
  block_timestamp: sometimes(timeSchema('Time of its block. Absent while it is in no block.')),
  energy_used: inBlock('All energy of the call (energy_usage_total).', 130_285),
  energy_penalty: inBlock('The dynamic part of energy_used (energy_penalty_total).', 100_635),
  staked_energy: inBlock('The part from staked or rented energy of the sender (energy_usage).', 64_285),
  burnt_energy: inBlock('The part that was paid by burning TRX.', 66_000),
  deployer_energy: inBlock('The part that the deployer of the contract paid (origin_energy_usage).', 0),
  energy_fee_sun: sometimes(integerSchema('Price of one energy in sun then, where it is known.', 100)),
  energy_burn_sun: inBlock('Burnt for energy, in sun (energy_fee).', 6_600_000),
  bandwidth_used: inBlock('Free or staked bandwidth used (net_usage).', 345),
  bandwidth_burn_sun: inBlock('Burnt for bandwidth, in sun (net_fee).', 0),
  activation_burn_sun: inBlock('Burnt to create an account, in sun, its bandwidth included.', 0),
  total_burn_sun: inBlock('Everything that was burnt, in sun (fee).', 6_600_000),
  fee_limit_sun: sometimes(integerSchema('The fee_limit that the sender signed, in sun. Only of calls.', 30_000_000)),
  causes: always({ type: 'array', items: CAUSE, description: 'Proven causes, the weightiest first; never empty.' }),
  rentals: always({
    type: 'array',
    items: RENTAL,
    description: 'Rentals of the sender around the transaction, at most ten.',
  }),
});

const EXAMPLE: ExplanationBody = {
  txid: EXAMPLE_TXID,
  owner_address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  receive_address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
  contract_address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  fee_limit_sun: 30_000_000,
  sentence:
    'The token transfer burnt 6.528500 TRX: the recipient TLsV52sRDL79HXGGm9yzwKibb6BeruhUzy did not hold the token: the call needed 130 285 energy, and 65 000 was rented, enough for the 64 374 of a transfer to a holder.',
  solid: true,
  result: 'SUCCESS',
  block_number: 68_000_000,
  block_timestamp: '2026-11-20T12:00:00.000Z',
  energy_used: 130_285,
  energy_penalty: 100_635,
  staked_energy: 65_000,
  burnt_energy: 65_285,
  deployer_energy: 0,
  energy_fee_sun: 100,
  energy_burn_sun: 6_528_500,
  bandwidth_used: 345,
  bandwidth_burn_sun: 0,
  activation_burn_sun: 0,
  total_burn_sun: 6_528_500,
  causes: [
    {
      code: 'RECIPIENT_WITHOUT_TOKEN',
      sentence:
        'The recipient TLsV52sRDL79HXGGm9yzwKibb6BeruhUzy did not hold the token: the call needed 130 285 energy, and 65 000 was rented, enough for the 64 374 of a transfer to a holder.',
      next: 'Name the recipient as transfer_to in the quote or order, which sizes the rental by that transfer.',
      burn_sun: 6_528_500,
    },
  ],
  rentals: [{ order_key: 'payout-17', running_energy: 65_000, later_energy: 0, ended_energy: 0 }],
};

export function describeExplain(): Operation {
  return {
    operationId: 'explainTransaction',
    tag: 'Orders',
    summary: 'Why a transaction burnt TRX or failed, although energy was rented',
    description:
      'Explains one transaction that an address of your orders sent or took part in. Charges nothing. A transaction of other addresses is unknown, like one that does not exist. Shares the rate limit of quotes.',
    parameters: [
      {
        name: 'txid',
        in: 'path',
        required: true,
        description: 'Id of the transaction: 64 hex digits without 0x, in either case.',
        schema: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
      },
    ],
    answers: {
      200: {
        description: 'The explanation.',
        schemaName: 'Explanation',
        schema: EXPLANATION,
        examples: { new_recipient: EXAMPLE },
      },
    },
    errors: ['INVALID_REQUEST', 'NOT_FOUND', 'CHAIN_UNAVAILABLE'],
  };
}
