/** OpenAPI description of POST /v1/quotes (docs/interface.md §7). */
import {
  addressSchema,
  always,
  answerSchema,
  decimalSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import { burnPrice, creditsOf } from '../../domain/conversion.js';
import { energy, rateE8, sun } from '../../domain/units.js';
import { QuoteRequest, quoteBody, type ItemBody, type QuoteBody } from './quote.dto.js';

/** As `fee_limit_capped` of every answer with a fee limit. */
export const feeLimitCappedSchema = () => ({
  type: 'boolean',
  const: true,
  description:
    "Present when spending all of the energy in one transaction needs a higher fee_limit than the chain accepts (getMaxFeeLimit). fee_limit_sun is then the chain's highest, and the energy takes several transactions.",
});

const ITEM = answerSchema<ItemBody>({
  kind: always(textSchema('The part.', 'bandwidth', { enum: ['energy', 'bandwidth', 'activation'] })),
  amount: always(integerSchema('Energy, units of bandwidth, or 1 activation.', 10_000)),
  price_sun: always(integerSchema('Its share of price_sun.', 7_000_000)),
  credits: always(integerSchema('Its share of credits.', 21_000_000)),
});

/** As `items` of every answer with a price. */
export const itemsSchema = () => ({
  type: 'array',
  items: { $ref: '#/components/schemas/OrderItem' },
  description:
    'The parts of the price: kind, amount, price_sun and credits of each, which add up to those of the whole. Absent for energy alone.',
});

const QUOTE_ANSWER = answerSchema<QuoteBody>({
  ref: always(
    textSchema('The quote reference; pass it to an order as quote_ref.', 'AbCdEf012_-', {
      pattern: '^[A-Za-z0-9_-]{1,512}$',
    }),
  ),
  receive_address: always(addressSchema('Receiver of the energy, as sent.')),
  energy: always(integerSchema('Energy that will be bought.', 65_000)),
  bandwidth: sometimes(integerSchema('Units of bandwidth that will be bought. Absent without.', 10_000)),
  duration_sec: always(integerSchema('Seconds of rental.', 3600)),
  expected_uses: sometimes(integerSchema('As sent. Absent when it was not.', 1)),
  price_sun: always(integerSchema('Price in sun. Authoritative.', 2_925_000)),
  price_trx: always(decimalSchema('The same in TRX.', 6, '2.925000')),
  price_usd: sometimes(
    decimalSchema('The same in dollars at trx_usd. Absent when no fresh rate is known.', 6, '0.877500'),
  ),
  credits: always(integerSchema('Price of an order at this quote, in credits.', 8_775_000)),
  trx_usd: sometimes(decimalSchema('Dollars per TRX. Absent when no fresh rate is known.', 8, '0.30000000')),
  items: sometimes(itemsSchema()),
  price_per_use_sun: sometimes(
    integerSchema('Price divided by expected_uses, in sun, rounded up. Absent when that was not sent.', 2_925_000),
  ),
  fee_limit_sun: always(
    integerSchema(
      'The least fee_limit of a transaction that spends all of the energy. The chain stops a call at its fee_limit, even when rented energy is left.',
      6_500_000,
    ),
  ),
  fee_limit_capped: sometimes(feeLimitCappedSchema()),
  recipient_state: always(
    textSchema(
      "Based on the receiver's own token balance, not on the recipient of its transfer. unknown: the request named an energy or a transfer, or the balance was not read.",
      'unknown',
      {
        enum: ['warm', 'cold', 'unknown'],
      },
    ),
  ),
  needs_activation: sometimes({
    type: 'boolean',
    const: true,
    description: 'Present when the receiver was read and is not on chain yet.',
  }),
  burn_price_sun: always(
    integerSchema('Current cost of burning TRX for the same energy, once or expected_uses times, in sun.', 6_500_000),
  ),
  burn_price_trx: always(decimalSchema('The same in TRX.', 6, '6.500000')),
  burn_price_usd: sometimes(decimalSchema('The same in dollars. Absent when no fresh rate is known.', 6, '1.950000')),
  burn_price_credits: always(integerSchema('The same in credits.', 19_500_000)),
  saving_trx: always(decimalSchema('Burn price minus rental price, in TRX.', 6, '3.575000')),
  saving_usd: sometimes(decimalSchema('The same in dollars. Absent when no fresh rate is known.', 6, '1.072500')),
  saving_credits: always(integerSchema('The same in credits.', 10_725_000)),
  expires_at: always(timeSchema('End of the price hold.')),
  expires_in_sec: always(integerSchema('Seconds for which the price is held, at the time of the answer.', 90)),
});

/**
 * Returns an example quote for `amount` energy, computed by the code itself: 45 sun per energy, burn price 100 sun,
 * 0.30 dollars per TRX.
 */
export function exampleQuote(amount: number): QuoteBody {
  const rate = rateE8(30_000_000);
  const priceSun = sun(energy(amount) * 45n);
  const burnPriceSun = burnPrice(energy(amount), 100n);
  return quoteBody({
    ref: 'AdWk1mYwZ3h2c0Y5bXJ2a2V4YW1wbGUtcmVmLW5vdC1yZWRlZW1hYmxl',
    expiresAtMs: Date.UTC(2026, 10, 20, 12, 1, 30),
    holdSec: 90,
    rental: {
      receiveAddress: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
      energy: energy(amount),
      durationSec: 3600,
      priceSun,
      credits: creditsOf(priceSun, rate),
      rate,
      burnPriceSun,
      burnPriceCredits: creditsOf(burnPriceSun, rate),
      feeLimitSun: burnPriceSun,
      isFeeLimitCapped: false,
      rateFresh: true,
      recipientState: 'unknown',
      needsActivation: false,
    },
  });
}

export function describeQuote(): Operation {
  const example = exampleQuote(65_000);
  const { receive_address } = example;
  return {
    operationId: 'createQuote',
    tag: 'Quotes',
    summary: 'Price a rental and hold the price',
    description:
      "Free. Holds the price for the stated seconds, for exactly one order. Without energy, the service reads the receiver's own balance of the reference token on chain. If it holds the token, the size fits a transfer to a holder; otherwise, a transfer to an address without the token. The real need depends on the recipient: POST /v1/simulate returns it. Shares the rate limit of simulations.",
    request: {
      schemaName: 'QuoteRequest',
      type: QuoteRequest,
      examples: {
        sized: { receive_address },
        named: { receive_address, energy: example.energy, duration_sec: example.duration_sec },
      },
    },
    answers: {
      200: {
        description: 'The quote.',
        schemaName: 'Quote',
        schema: QUOTE_ANSWER,
        parts: { OrderItem: ITEM },
        examples: { quote: example },
      },
    },
    errors: [
      'RECEIVER_NOT_SUPPORTED',
      'TRANSFER_WOULD_FAIL',
      'NOT_WORTH_RENTING',
      'CHAIN_UNAVAILABLE',
      'CAPACITY_UNAVAILABLE',
    ],
  };
}
