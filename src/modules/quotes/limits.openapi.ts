/** OpenAPI description of GET /v1/limits (docs/interface.md §4). */
import {
  always,
  answerSchema,
  integerSchema,
  sometimes,
  timeSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import type { BudgetLimit, DurationOnSale, LimitsBody } from './limits.dto.js';

const DURATION = answerSchema<DurationOnSale>({
  max_duration_sec: always(
    integerSchema('Longest rental at this price. A duration takes the first row that covers it.', 3600),
  ),
  sun_per_energy: always(integerSchema('Sun per energy. A rental costs at least price_floor_sun.', 45)),
  min_expected_uses: sometimes(
    integerSchema(
      'The fewest expected_uses by which it is worth renting for so long; absent while none are enough.',
      1,
    ),
  ),
  max_expected_uses: always(integerSchema('The most expected_uses of a rental of this duration.', 1)),
  min_energy: sometimes(
    integerSchema('Least energy on sale. Absent while a rental of this duration costs no less than burning TRX.', 6205),
  ),
  max_energy: always(
    integerSchema('Most energy that one order for max_duration_sec can buy now; 0 if none.', 12_000_000),
  ),
  sun_per_bandwidth: sometimes(
    integerSchema(
      'Sun per unit of bandwidth, which costs at least price_floor_sun. Absent where none is on sale.',
      700,
    ),
  ),
  min_bandwidth: sometimes(
    integerSchema('Least bandwidth worth renting by max_expected_uses. Absent while none is.', 621),
  ),
  max_bandwidth: sometimes(
    integerSchema('Most bandwidth that one order for max_duration_sec can buy now beside energy; 0 if none.', 500_000),
  ),
});

const BUDGET = answerSchema<BudgetLimit>({
  requests: always(integerSchema('Requests allowed in a window.', 120)),
  window_sec: always(integerSchema('Seconds of a window. It begins with its first request.', 60)),
});

const LIMITS = answerSchema<LimitsBody>({
  energy: always({
    ...answerSchema<LimitsBody['energy']>({
      min: always(integerSchema('Least energy of a request.', 1000)),
      max: always(integerSchema('Most energy of a request.', 100_000_000)),
    }),
    description: 'Bounds of `energy` in a request.',
  }),
  duration_sec: always({
    ...answerSchema<LimitsBody['duration_sec']>({
      min: always(integerSchema('The shortest rental, in seconds.', 300)),
      max: always(integerSchema('The longest rental, in seconds.', 2_592_000)),
      default: always(integerSchema('Default, in seconds.', 3600)),
    }),
    description: 'Bounds of `duration_sec` in a request.',
  }),
  burn_price_sun_per_energy: always(integerSchema('Current cost of burning TRX for one energy, in sun.', 100)),
  burn_price_sun_per_bandwidth: sometimes(
    integerSchema('The same for one unit of bandwidth. Absent where none is on sale.', 1000),
  ),
  price_floor_sun: always(integerSchema('Minimum price of a rental, in sun.', 620_400)),
  durations: always({
    type: 'array',
    items: DURATION,
    description: 'The price table, shortest duration first, with the amounts on sale now.',
  }),
  rate_limits: always({
    ...answerSchema<LimitsBody['rate_limits']>({
      quotes: always({ ...BUDGET, description: 'Limit for quotes, simulations and explanations together.' }),
      general: always({
        ...BUDGET,
        description: 'Limit for requests other than quotes, simulations, explanations, orders and reads of orders.',
      }),
    }),
    description: "The project's rate limits. Orders and their reads have none.",
  }),
  timestamp: always(timeSchema("Time of the answer. The pool's free energy was read at most a second before.")),
});

export function describeLimits(): Operation {
  return {
    operationId: 'getLimits',
    tag: 'Quotes',
    summary: 'Read prices and the amounts on sale now',
    description:
      'The answer is the same for every project and cached for a second. It promises nothing: other projects buy meanwhile. A quote holds a price, and only an order reserves energy. Balance and caps are not considered.',
    answers: {
      200: {
        description: 'The current limits.',
        schemaName: 'Limits',
        schema: LIMITS,
        examples: {
          limits: {
            energy: { min: 1000, max: 100_000_000 },
            duration_sec: { min: 300, max: 2_592_000, default: 3600 },
            burn_price_sun_per_energy: 100,
            burn_price_sun_per_bandwidth: 1000,
            price_floor_sun: 620_400,
            durations: [
              {
                max_duration_sec: 3600,
                sun_per_energy: 45,
                min_expected_uses: 1,
                max_expected_uses: 1,
                min_energy: 6205,
                max_energy: 12_000_000,
                sun_per_bandwidth: 700,
                min_bandwidth: 621,
                max_bandwidth: 500_000,
              },
              {
                max_duration_sec: 604_800,
                sun_per_energy: 315,
                min_expected_uses: 4,
                max_expected_uses: 8,
                min_energy: 1552,
                max_energy: 11_857_000,
              },
            ],
            rate_limits: { quotes: { requests: 120, window_sec: 60 }, general: { requests: 600, window_sec: 60 } },
            timestamp: '2026-11-20T12:00:00.000Z',
          },
        },
      },
    },
    errors: ['CHAIN_UNAVAILABLE'],
  };
}
