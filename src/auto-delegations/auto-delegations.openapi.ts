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
} from '../http/openapi/openapi.js';
import {
  AUTO_DELEGATION_STATUSES,
  AutoDelegationActRequest,
  AutoDelegationListQuery,
  AutoDelegationRequest,
  type AutoDelegationBody,
  type AutoDelegationPageBody,
  type PricedAutoDelegationBody,
} from './auto-delegations.dto.js';

const AUTO_DELEGATION = {
  id: always(textSchema('Its purchases are the orders of this key, _ and their number.', 'auto_17')),
  address: always(addressSchema('The address that is kept supplied.')),
  status: always(
    textSchema(
      'active: kept supplied. asleep: unused for so long that the service only waits for its next use. paused: what it ' +
        'needs cannot be bought just now, and is tried again. ended: `until` is past.',
      'active',
      { enum: AUTO_DELEGATION_STATUSES },
    ),
  ),
  keep_energy: always(integerSchema('Energy that a refill restores.', 260_000)),
  refill_below: always(integerSchema('A refill is bought below this.', 208_000)),
  duration_sec: always(integerSchema('Duration of each rental, in seconds.', 86_400)),
  max_sun_per_energy: sometimes(integerSchema('Nothing dearer is bought.', 90)),
  daily_cap_credits: always(integerSchema('The most it may spend in a UTC day.', 500_000_000)),
  idle_after_sec: always(integerSchema('Unused for so long it sleeps.', 86_400)),
  until: sometimes(timeSchema('From then on, by the time of the chain, nothing is bought.')),
  pause: sometimes(
    answerSchema<NonNullable<AutoDelegationBody['pause']>>({
      reason: always(
        textSchema(
          'The code that a purchase is refused with, PRICE_ABOVE_MAX, DURATION_NOT_SOLD or API_KEY_REVOKED.',
          'INSUFFICIENT_CREDITS',
        ),
      ),
      since: always(timeSchema('Since when, by the clock of the service.')),
    }),
  ),
  usable_energy: sometimes(
    integerSchema('Spendable energy at the last check, including deliveries on their way.', 255_312),
  ),
  checked_at: sometimes(timeSchema('When it was last checked.')),
  used_at: sometimes(timeSchema('Since when it counts as unused, by the time of the chain.')),
  purchases: always(integerSchema('How many there were: orders and extensions.', 3)),
  spent_today_credits: always(integerSchema('Of the cap, on this UTC day.', 45_000_000)),
  open_order: sometimes(textSchema('The key of a purchase that is not delivered yet.', 'auto_17_3')),
  created_at: always(timeSchema('When it was made.')),
  changed_at: always(timeSchema('When it was last set.')),
};

/** Events refer to this schema by its name too. */
const AUTO_DELEGATION_ANSWER = answerSchema<AutoDelegationBody>(AUTO_DELEGATION);

const PRICED = answerSchema<PricedAutoDelegationBody>({
  ...AUTO_DELEGATION,
  idle_cost_credits_per_day: sometimes(integerSchema('Cost of a day without use at current prices.', 50_700_000)),
  cost_per_refill_credits: sometimes(
    integerSchema('Cost of a refill from `refill_below` at current prices.', 10_140_000),
  ),
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
  purchases: 3,
  spent_today_credits: 45_000_000,
  created_at: '2026-11-19T12:00:00.000Z',
  changed_at: '2026-11-19T12:00:00.000Z',
};
const PRICED_EXAMPLE: PricedAutoDelegationBody = {
  ...AUTO_DELEGATION_EXAMPLE,
  idle_cost_credits_per_day: 50_700_000,
  cost_per_refill_credits: 10_140_000,
};
const { usable_energy: _usable, checked_at: _checked, used_at: _used, ...UNCHECKED } = PRICED_EXAMPLE;
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
  description: 'The TRON address that is kept supplied.',
  schema: { type: 'string' },
};
const NOTHING = { schemaName: 'AutoDelegationActRequest', type: AutoDelegationActRequest, examples: { nothing: {} } };
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
      'Replaces whatever was set for the address: a member that is left out has its default again. From then on energy is ' +
      'bought whenever less than `refill_below` is usable, wherever it comes from, within a block of the use; each ' +
      'purchase is an order of yours, charged to the API key that set this. It becomes active and is checked immediately. What ' +
      'is too dear, or more than the pool can deliver just now, is taken all the same, and paused.',
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
      },
    },
    answers: {
      200: priced('It was there, and is as it was set now.', PRICED_EXAMPLE),
      201: priced('It is made.', NEW_EXAMPLE),
    },
    errors: [
      'NOT_WORTH_RENTING',
      'RECEIVER_NOT_ACTIVATED',
      'RECEIVER_NOT_SUPPORTED',
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
    description: 'Page by page.',
    query: AutoDelegationListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'AutoDelegationPage',
        schema: answerSchema<AutoDelegationPageBody>({
          items: always({ type: 'array', items: { $ref: '#/components/schemas/AutoDelegation' } }),
          next_cursor: sometimes(textSchema('Pass it as cursor for the next page; absent on the last.', 'YTE3')),
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
    summary: 'Keep an address supplied no longer',
    description: 'Stops further purchases. Running rentals continue to their end. The body is optional.',
    parameters: [ADDRESS_IN_PATH],
    request: NOTHING,
    answers: { 204: { description: 'It is gone.' } },
    errors: ['NOT_FOUND'],
  };
}

export function describeAutoDelegationWake(): Operation {
  return {
    operationId: 'wakeAutoDelegation',
    tag: 'Auto-delegation',
    summary: 'Check it immediately, as after a use',
    description: 'One that sleeps is awake then, before the address is used. The body may be left out.',
    parameters: [ADDRESS_IN_PATH],
    request: NOTHING,
    answers: {
      200: {
        description: 'It is awake.',
        schemaName: 'AutoDelegation',
        schema: AUTO_DELEGATION_ANSWER,
        examples: { autoDelegation: AUTO_DELEGATION_EXAMPLE },
      },
    },
    errors: ['NOT_FOUND'],
  };
}
