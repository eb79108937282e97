/** OpenAPI description of the auto-delegation routes (docs/interface.md §31). */
import {
  addressSchema,
  always,
  answerSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
  type Parameter,
} from '../../platform/http/openapi/openapi.js';
import { EmptyBody } from '../../platform/http/body/empty-body.js';
import type { PageBody } from '../../domain/page.js';
import { feeLimitCappedSchema } from '../quotes/quote.openapi.js';
import {
  AUTO_DELEGATION_STATUSES,
  AutoDelegationListQuery,
  AutoDelegationRequest,
  type AutoDelegationBody,
  type DurationCost,
  type PricedAutoDelegationBody,
} from './auto-delegations.dto.js';

const AUTO_DELEGATION = {
  id: always(textSchema('The ID. The keys of its orders are this ID, _ and a number.', 'auto_17')),
  address: always(addressSchema('The address that is kept supplied.')),
  status: always(
    textSchema(
      'active: kept supplied. asleep: unused for a long time; waits for its next use. paused: energy cannot be bought now; retried. ended: `until` has passed.',
      'active',
      { enum: AUTO_DELEGATION_STATUSES },
    ),
  ),
  keep_energy: always(integerSchema('Energy that a refill restores.', 260_000)),
  refill_below: always(integerSchema('A refill is bought below this.', 208_000)),
  transfer_to: sometimes(addressSchema('Recipient of the transfer that sizes each refill, as sent.')),
  transfer_amount: sometimes(textSchema('Its amount in the token’s smallest unit.', '1000000')),
  token: sometimes(addressSchema('The contract of its token. Absent for the reference token.')),
  transfer_energy: sometimes(
    integerSchema(
      'Energy that the transfer needed when it was last simulated. The levels above are at least this.',
      130_285,
    ),
  ),
  duration_sec: always(integerSchema('Duration of each rental, in seconds.', 86_400)),
  max_sun_per_energy: sometimes(integerSchema('Buys nothing above this price.', 90)),
  daily_cap_credits: always(integerSchema('Spending limit for a UTC day.', 500_000_000)),
  idle_after_sec: always(integerSchema('Seconds without use after which it sleeps.', 86_400)),
  until: sometimes(timeSchema('Chain time after which nothing is bought.')),
  pause: sometimes(
    answerSchema<NonNullable<AutoDelegationBody['pause']>>({
      reason: always(
        textSchema(
          'The error code of the refused purchase, or PRICE_ABOVE_MAX, DURATION_NOT_SOLD or API_KEY_REVOKED.',
          'INSUFFICIENT_CREDITS',
        ),
      ),
      since: always(timeSchema("Start of the pause, by the service's clock.")),
    }),
  ),
  usable_energy: sometimes(
    integerSchema('Usable energy at the last check, including deliveries in progress.', 255_312),
  ),
  checked_at: sometimes(timeSchema('Time of the last check.')),
  used_at: sometimes(timeSchema('Start of the time without use, in chain time.')),
  measured_uses: sometimes({
    ...answerSchema<NonNullable<AutoDelegationBody['measured_uses']>>({
      days: always(integerSchema('UTC days that have ended since the first counted use, at most 30.', 7)),
      used_days: always(integerSchema('Those of them with a use.', 7)),
      uses: always(integerSchema('Blocks on these days in which the address called a contract.', 31)),
    }),
    description: 'Uses of the address by chain time. Absent before the first such day has ended.',
  }),
  purchases: always(integerSchema('Number of purchases: orders and extensions.', 3)),
  spent_today_credits: always(integerSchema('Credits spent on this UTC day.', 45_000_000)),
  open_order: sometimes(textSchema('Key of a purchase that is not delivered yet.', 'auto_17_3')),
  created_at: always(timeSchema('Time of creation.')),
  changed_at: always(timeSchema('Time of the last change of settings.')),
};

/** Events refer to this schema by its name too. */
const AUTO_DELEGATION_ANSWER = answerSchema<AutoDelegationBody>(AUTO_DELEGATION);

const DURATION = answerSchema<DurationCost>({
  duration_sec: always(integerSchema('Seconds of the rental.', 86_400)),
  sun_per_energy: always(integerSchema('Sun per energy, from the price table.', 65)),
  expected_uses: always(
    integerSchema(
      'The number of times that the energy will be spent: on each day with a use as far as measured, at least once.',
      1,
    ),
  ),
  price_sun: always(integerSchema('Price of `keep_energy` in sun.', 16_900_000)),
  price_per_use_sun: always(integerSchema('price_sun divided by expected_uses, rounded up.', 16_900_000)),
});

const PRICED = answerSchema<PricedAutoDelegationBody>({
  ...AUTO_DELEGATION,
  idle_cost_credits_per_day: sometimes(integerSchema('Cost of a day without use at current prices.', 50_700_000)),
  cost_per_refill_credits: sometimes(
    integerSchema('Cost of a refill from `refill_below` at current prices.', 10_140_000),
  ),
  fee_limit_sun: sometimes(
    integerSchema(
      'The least fee_limit of a transaction that spends `keep_energy`, at the current energy price. The chain stops a call at its fee_limit, even when rented energy is left.',
      26_000_000,
    ),
  ),
  fee_limit_capped: sometimes(feeLimitCappedSchema()),
  chosen_duration_sec: sometimes(
    integerSchema(
      'Duration of the next purchase, chosen by the service. Absent if the request named duration_sec.',
      86_400,
    ),
  ),
  durations: sometimes({
    type: 'array',
    items: DURATION,
    description:
      'The rows of the price table that it can buy `keep_energy` by, shortest first: on sale, worth renting for daily use, and not above max_sun_per_energy. Absent while prices are unknown.',
  }),
});

const ADDRESS = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
const AUTO_DELEGATION_EXAMPLE: AutoDelegationBody = {
  id: 'auto_17',
  address: ADDRESS,
  status: 'active',
  keep_energy: 260_000,
  refill_below: 208_000,
  duration_sec: 86_400,
  daily_cap_credits: 500_000_000,
  idle_after_sec: 86_400,
  usable_energy: 255_312,
  checked_at: '2026-11-20T12:00:03.412Z',
  used_at: '2026-11-20T12:00:03.000Z',
  measured_uses: { days: 1, used_days: 1, uses: 4 },
  purchases: 3,
  spent_today_credits: 45_000_000,
  created_at: '2026-11-19T12:00:00.000Z',
  changed_at: '2026-11-19T12:00:00.000Z',
};
const PRICED_EXAMPLE: PricedAutoDelegationBody = {
  ...AUTO_DELEGATION_EXAMPLE,
  idle_cost_credits_per_day: 50_700_000,
  cost_per_refill_credits: 10_140_000,
  fee_limit_sun: 26_000_000,
  chosen_duration_sec: 86_400,
  durations: [
    {
      duration_sec: 86_400,
      sun_per_energy: 65,
      expected_uses: 1,
      price_sun: 16_900_000,
      price_per_use_sun: 16_900_000,
    },
    {
      duration_sec: 604_800,
      sun_per_energy: 315,
      expected_uses: 7,
      price_sun: 81_900_000,
      price_per_use_sun: 11_700_000,
    },
  ],
};
const {
  usable_energy: _usable,
  checked_at: _checked,
  used_at: _used,
  measured_uses: _measured,
  ...UNCHECKED
} = PRICED_EXAMPLE;
const NEW_EXAMPLE: PricedAutoDelegationBody = { ...UNCHECKED, purchases: 0, spent_today_credits: 0 };
const PAUSED_EXAMPLE: AutoDelegationBody = {
  ...AUTO_DELEGATION_EXAMPLE,
  status: 'paused',
  pause: { reason: 'INSUFFICIENT_CREDITS', since: '2026-11-20T11:58:00.000Z' },
};

const ADDRESS_IN_PATH: Parameter = {
  name: 'address',
  in: 'path',
  required: true,
  description: 'The TRON address to keep supplied.',
  schema: { type: 'string' },
};
const NOTHING = { schemaName: 'AutoDelegationActRequest', type: EmptyBody, examples: { nothing: {} } };
const priced = (description: string, example: PricedAutoDelegationBody) => ({
  description,
  schemaName: 'PricedAutoDelegation',
  schema: PRICED,
  examples: { autoDelegation: example },
});

export function describeAutoDelegationSet(): Operation {
  return {
    operationId: 'setAutoDelegation',
    tag: 'Auto-delegation',
    summary: 'Keep an address supplied with energy',
    description:
      "Replaces the settings of the address; omitted members return to their defaults. The service then buys energy within a block whenever less than `refill_below` is usable, from any source. Each purchase is an order of the project, charged to the API key that set this. The auto-delegation becomes active and is checked immediately. Settings that are too expensive, or exceed the pool's present capacity, are accepted and paused.",
    parameters: [ADDRESS_IN_PATH],
    request: {
      schemaName: 'AutoDelegationRequest',
      type: AutoDelegationRequest,
      examples: {
        least: { keep_energy: 260_000, daily_cap_credits: 500_000_000 },
        all: {
          keep_energy: 260_000,
          refill_below: 130_000,
          duration_sec: 3600,
          max_sun_per_energy: 90,
          daily_cap_credits: 500_000_000,
          idle_after_sec: 3600,
          until: '2026-12-31T12:00:00Z',
        },
        byTransfer: {
          keep_energy: 65_000,
          transfer_to: ADDRESS,
          transfer_amount: '25000000',
          daily_cap_credits: 500_000_000,
        },
      },
    },
    answers: {
      200: priced('The existing auto-delegation was replaced.', PRICED_EXAMPLE),
      201: priced('The auto-delegation was created.', NEW_EXAMPLE),
    },
    errors: [
      'NOT_WORTH_RENTING',
      'RECEIVER_NOT_ACTIVATED',
      'RECEIVER_NOT_SUPPORTED',
      'TRANSFER_WOULD_FAIL',
      'LIMIT_REACHED',
      'CHAIN_UNAVAILABLE',
    ],
  };
}

export function describeAutoDelegationRead(): Operation {
  return {
    operationId: 'getAutoDelegation',
    tag: 'Auto-delegation',
    summary: 'Read an auto-delegation',
    description: 'With its cost at current prices. Both figures are absent while they are unknown.',
    parameters: [ADDRESS_IN_PATH],
    answers: { 200: priced('The auto-delegation of the address.', PRICED_EXAMPLE) },
    errors: ['NOT_FOUND'],
  };
}

export function describeAutoDelegationList(): Operation {
  return {
    operationId: 'listAutoDelegations',
    tag: 'Auto-delegation',
    summary: 'List auto-delegations, newest first',
    description: 'Returns one page.',
    query: AutoDelegationListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'AutoDelegationPage',
        schema: answerSchema<PageBody<AutoDelegationBody>>({
          items: always({ type: 'array', items: { $ref: '#/components/schemas/AutoDelegation' } }),
          next_cursor: sometimes(textSchema('The cursor of the next page. Absent on the last page.', 'YTE3')),
        }),
        examples: { page: { items: [AUTO_DELEGATION_EXAMPLE, PAUSED_EXAMPLE] }, none: { items: [] } },
      },
    },
    errors: [],
  };
}

export function describeAutoDelegationDelete(): Operation {
  return {
    operationId: 'deleteAutoDelegation',
    tag: 'Auto-delegation',
    summary: 'Stop keeping an address supplied',
    description: 'Stops further purchases. Running rentals continue to their end. The body is optional.',
    parameters: [ADDRESS_IN_PATH],
    request: NOTHING,
    answers: { 204: { description: 'The auto-delegation was deleted.' } },
    errors: ['NOT_FOUND'],
  };
}

export function describeAutoDelegationWake(): Operation {
  return {
    operationId: 'wakeAutoDelegation',
    tag: 'Auto-delegation',
    summary: 'Check it immediately, as after a use',
    description: 'Wakes a sleeping auto-delegation before the address is used. The body is optional.',
    parameters: [ADDRESS_IN_PATH],
    request: NOTHING,
    answers: {
      200: {
        description: 'The auto-delegation is awake.',
        schemaName: 'AutoDelegation',
        schema: AUTO_DELEGATION_ANSWER,
        examples: { autoDelegation: AUTO_DELEGATION_EXAMPLE },
      },
    },
    errors: ['NOT_FOUND'],
  };
}
