/** OpenAPI description of POST /v1/simulate (docs/interface.md §8). */
import { HTTP_STATUS } from '../../domain/errors.js';
import {
  always,
  answerSchema,
  decimalSchema,
  formSchema,
  integerSchema,
  sometimes,
  textSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import { exampleQuote, feeLimitCappedSchema } from '../quotes/quote.openapi.js';
import { EXAMPLE_PARAMETER, SimulateRequest, type SimulationBody } from './simulate.dto.js';

const yes = (description: string) => ({ type: 'boolean', const: true, description });

const SIMULATION_ANSWER = answerSchema<SimulationBody>({
  energy_used: always(integerSchema("The node's own figure for the call.", 64_285)),
  energy_needed: always(
    integerSchema(
      "Energy to rent: energy_used plus 10 %, less the deployer's share. 0 if the call would fail.",
      70_714,
    ),
  ),
  deployer_energy: sometimes(
    integerSchema("Share of energy_used that the contract's deployer pays, when above 0.", 6_428),
  ),
  burn_price_sun: always(
    integerSchema('Cost of the call in sun without energy on the wallet. 0 if it would fail.', 6_428_500),
  ),
  burn_price_trx: sometimes(decimalSchema('The same in TRX, when the call succeeds.', 6, '6.428500')),
  burn_price_usd: sometimes(
    decimalSchema('The same in dollars, when the call succeeds and a fresh rate is known.', 6, '1.928550'),
  ),
  energy_penalty: sometimes(integerSchema('The dynamic part of energy_used, when the call succeeds.', 49_635)),
  fee_limit_sun: sometimes(
    integerSchema(
      'Minimum fee_limit of your transaction, if the call succeeds. fee_limit also caps the use of rented energy: with a lower one, the call ends in OUT_OF_ENERGY despite enough energy. Bandwidth is not part of it.',
      7_071_400,
    ),
  ),
  fee_limit_capped: sometimes(feeLimitCappedSchema()),
  bandwidth_needed: sometimes(
    integerSchema('Bytes of bandwidth that the signed call takes, when it succeeds: one signature, no memo.', 345),
  ),
  bandwidth_available: sometimes(
    integerSchema(
      'The better of the sender’s free and staked bandwidth: one of them pays for a whole transaction. Absent when no node reported them.',
      600,
    ),
  ),
  bandwidth_burn_sun: sometimes(
    integerSchema('Burnt for bandwidth, in sun: 0 if bandwidth_available covers the call, otherwise all of it.', 0),
  ),
  activation_burn_sun: sometimes(
    integerSchema('Burnt to create an account, in sun: always 0, since a call pays for that with energy.', 0),
  ),
  total_burn_sun: sometimes(
    integerSchema('burn_price_sun, bandwidth_burn_sun and activation_burn_sun together.', 6_428_500),
  ),
  would_fail: sometimes(yes('Present if the call would fail with any amount of energy.')),
  needs_activation: sometimes(yes('Present when the sender is not on chain: activate it, then simulate again.')),
  reason: sometimes(
    textSchema(
      'Reason why the call would fail. For the reference token, also a remedy.',
      'TRC20: transfer amount exceeds balance',
    ),
  ),
  quote: sometimes({
    $ref: '#/components/schemas/Quote',
    description: 'A redeemable quote, if requested and the call succeeds.',
  }),
  quote_error: sometimes(
    textSchema('Error code, if a quote was requested and could not be made.', 'NOT_WORTH_RENTING', {
      enum: Object.keys(HTTP_STATUS),
    }),
  ),
});

const SUCCESS: SimulationBody = {
  energy_used: 64_285,
  energy_needed: 70_714,
  burn_price_sun: 6_428_500,
  burn_price_trx: '6.428500',
  burn_price_usd: '1.928550',
  energy_penalty: 49_635,
  fee_limit_sun: 7_071_400,
  bandwidth_needed: 345,
  bandwidth_available: 600,
  bandwidth_burn_sun: 0,
  activation_burn_sun: 0,
  total_burn_sun: 6_428_500,
};

export function describeSimulate(): Operation {
  const call = {
    owner_address: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
    contract_address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  };
  return {
    operationId: 'simulateCall',
    tag: 'Simulation',
    summary: 'Simulate an unsigned contract call and return the energy it needs',
    description:
      'Free: signs, sends and charges nothing. Send the call in one form: data, or function_selector with parameter. A call that would fail answers 200, not an error. Shares the rate limit of quotes.',
    request: {
      schemaName: 'SimulateRequest',
      type: SimulateRequest,
      forms: [
        formSchema('raw calldata', 'data', ['function_selector', 'parameter']),
        formSchema('function and arguments', 'function_selector', ['data']),
      ],
      examples: {
        selector: { ...call, function_selector: 'transfer(address,uint256)', parameter: EXAMPLE_PARAMETER },
        data: { ...call, data: `a9059cbb${EXAMPLE_PARAMETER}`, quote: true },
      },
    },
    answers: {
      200: {
        description: 'The result of the call.',
        schemaName: 'Simulation',
        schema: SIMULATION_ANSWER,
        examples: {
          success: SUCCESS,
          with_quote: { ...SUCCESS, quote: exampleQuote(70_714) },
          would_fail: {
            energy_used: 603,
            energy_needed: 0,
            burn_price_sun: 0,
            would_fail: true,
            reason: 'TRC20: transfer amount exceeds balance',
          },
          not_activated: {
            energy_used: 603,
            energy_needed: 0,
            burn_price_sun: 0,
            would_fail: true,
            needs_activation: true,
            reason: 'The sender is not activated.',
          },
        },
      },
    },
    errors: ['RECEIVER_NOT_SUPPORTED', 'SIMULATION_FAILED'],
  };
}
