/** OpenAPI description of GET /v1/limits (docs/interface.md §4). */
import { always, answerSchema, integerSchema, sometimes, timeSchema, type Operation } from '../http/openapi/openapi.js';
import type { BudgetLimit, DurationOnSale, LimitsBody } from './limits.dto.js';

const DURATION = answerSchema<DurationOnSale>({
  max_duration_sec: always(
    integerSchema('The longest rental of this price; a duration belongs to the shortest that covers it.', 3600),
  ),
  sun_per_energy: always(integerSchema('Sun per energy. A rental costs at least price_floor_sun.', 45)),
  min_energy: sometimes(
    integerSchema('The least energy that is sold; absent while renting for so long costs no less than burning.', 6205),
  ),
  max_energy: always(
    integerSchema('The most that one order for max_duration_sec could have just now; 0 while none could.', 12_000_000),
  ),
});

const BUDGET = answerSchema<BudgetLimit>({
  requests: always(integerSchema('How many are taken in a window.', 120)),
  window_sec: always(integerSchema('Seconds of a window, which begins with the first of them.', 60)),
});

const LIMITS = answerSchema<LimitsBody>({
  energy: always({
    ...answerSchema<LimitsBody['energy']>({
      min: always(integerSchema('The least that may be named.', 1000)),
      max: always(integerSchema('The most.', 100_000_000)),
    }),
    description: 'The bounds of an energy that is named.',
  }),
  duration_sec: always({
    ...answerSchema<LimitsBody['duration_sec']>({
      min: always(integerSchema('The shortest rental, in seconds.', 300)),
      max: always(integerSchema('The longest.', 604_800)),
      default: always(integerSchema('When none is named.', 3600)),
    }),
    description: 'The bounds of a duration.',
  }),
  burn_price_sun_per_energy: always(integerSchema('Current cost of burning TRX for one energy, in sun.', 100)),
  price_floor_sun: always(integerSchema('Minimum price of a rental, in sun.', 620_400)),
  durations: always({
    type: 'array',
    items: DURATION,
    description: 'The price table, shortest duration first, with the amounts on sale now.',
  }),
  rate_limits: always({
    ...answerSchema<LimitsBody['rate_limits']>({
      quotes: always({ ...BUDGET, description: 'Of quotes and simulations together.' }),
      general: always({
        ...BUDGET,
        description: 'Of requests other than quotes, simulations, orders and reads of orders.',
      }),
    }),
    description: 'The budgets of the project. Orders and their reads have none.',
  }),
  timestamp: always(timeSchema('Time of the answer. The free energy of the pool was read within the second before.')),
});

export function describeLimits(): Operation {
  return {
    operationId: 'getLimits',
    tag: 'Quotes',
    summary: 'Read prices and the energy on sale now',
    description:
      'The same for every project, and for a second at a time. It is no promise: others buy meanwhile. A quote holds a ' +
      'price, and only an order takes energy. Balance and caps are not read.',
    answers: {
      200: {
        description: 'The limits of this moment.',
        schemaName: 'Limits',
        schema: LIMITS,
        examples: {
          limits: {
            energy: { min: 1000, max: 100_000_000 },
            duration_sec: { min: 300, max: 604_800, default: 3600 },
            burn_price_sun_per_energy: 100,
            price_floor_sun: 620_400,
            durations: [
              { max_duration_sec: 3600, sun_per_energy: 45, min_energy: 6205, max_energy: 12_000_000 },
              { max_duration_sec: 604_800, sun_per_energy: 95, min_energy: 6205, max_energy: 11_857_000 },
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
