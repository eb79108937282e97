// Planted bugs for the second resource of an order: bandwidth beside energy.
import { ENDING, one, ORDERS, POOL_SYNC, SENDER, type NamedTest, type PlantedBug } from './planted-bug.js';

const RUNNING = 'modules/fulfilment/plan/running-rentals.ts';

const runningBundles = (title: string): NamedTest => ({
  file: 'integration/fulfilment/running-bundles.test.ts',
  title,
});

const inParts = (title: string): NamedTest => ({ file: 'integration/fulfilment/bundles-in-parts.test.ts', title });

export const PLANTED_IN_BUNDLES: readonly PlantedBug[] = [
  {
    name: 'bandwidth that the network’s growth takes is not made up for',
    changes: one(
      ORDERS,
      'sun_per_bandwidth_e6 = div(s.bandwidth_sun * 1000000, o.bandwidth)::bigint,\n      needs',
      'needs',
    ),
    test: runningBundles(
      'is topped up with bandwidth alone when the stake for bandwidth grows, and all of it is reclaimed',
    ),
  },
  {
    name: 'a top-up of bandwidth does not count as standing',
    changes: one(
      ORDERS,
      `FILTER (WHERE kind = 'bandwidth') AS bandwidth_sun FROM open_leg\n           WHERE order_id = $1 AND`,
      `FILTER (WHERE kind = 'bandwidth') AS bandwidth_sun FROM open_leg\n           WHERE order_id = $1 AND NOT top_up AND`,
    ),
    test: runningBundles(
      'is topped up with bandwidth alone when the stake for bandwidth grows, and all of it is reclaimed',
    ),
  },
  {
    name: 'energy rests while bandwidth has no capacity',
    changes: one(
      ENDING,
      'postponeTopUps(this.database, order, resourceOf(kind), TOP_UP_REST_SEC)',
      `postponeTopUps(this.database, order, 'ENERGY', TOP_UP_REST_SEC)`,
    ),
    test: runningBundles('without stake for bandwidth only the bandwidth waits, and energy is topped up'),
  },
  {
    name: 'top-ups of energy are counted against those of bandwidth',
    changes: one(
      RUNNING,
      'legsOf(order, resource).filter((leg) => leg.isTopUp).length',
      'order.legs.filter((leg) => leg.isTopUp).length',
    ),
    test: { file: 'unit/pool/energy-ratio.test.ts', title: 'has a limit of top-ups and an end of its own' },
  },
  {
    name: 'a transaction that could not be signed again counts as signed',
    changes: one(
      SENDER,
      "results.flatMap((result) => ('error' in result ? [] : result))",
      "results.flatMap((result) => ('signature' in result ? result : []))",
    ),
    test: inParts('moves the unsent parts of a wallet whose key fails to the other wallet'),
  },
  {
    name: 'a foreign act on bandwidth ends a delegation of energy',
    changes: one(
      'modules/reconciliation/foreign-undelegations.ts',
      'act.block_number, delegationKind(act.resource)]',
      `act.block_number, 'rental']`,
    ),
    test: inParts('keeps its energy when the owner takes the bandwidth back, and is reclaimed without it'),
  },
  {
    name: 'an explanation of energy covers bandwidth of the same pair',
    changes: one('modules/verify/delegation-check.ts', "${resource === 'BANDWIDTH' ? ' (bandwidth)' : ''}", ''),
    test: inParts('tells a mismatch of bandwidth from one of energy, and reclaims the owner’s delegations of both'),
  },
  {
    name: 'every receiver of energy is read again for bandwidth',
    changes: one(
      'modules/verify/delegation-check.ts',
      '!expected.has(receiver) && !other.has(receiver)',
      '!expected.has(receiver)',
    ),
    test: inParts('reads no pair again because its receiver has only the other resource'),
  },
  {
    name: 'a lost act on bandwidth is given to a leg of energy',
    changes: one(
      'modules/reconciliation/backup-recovery.ts',
      `type === CREATE_ACCOUNT_TYPE ? 'activation' : delegationKind(resource)`,
      `type === CREATE_ACCOUNT_TYPE ? 'activation' : resource === 'ENERGY' ? delegationKind(resource) : 'rental'`,
    ),
    test: inParts('finds a delivery of bandwidth again that a restored backup lacks, and delivers it once'),
  },
  {
    name: 'the reason of a refund is that of a leg that was moved',
    changes: one('modules/fulfilment/plan/delivery-check.ts', 'order.legs.findLast(', 'order.legs.find('),
    test: inParts('says of an activation that another wallet took over that it was made'),
  },
  {
    name: 'running rentals lose their bandwidth with its price',
    changes: one(
      POOL_SYNC,
      'AND sun_per_bandwidth_e6 IS NOT NULL)',
      'AND sun_per_bandwidth_e6 IS NULL AND sun_per_energy_e6 IS NULL)',
    ),
    test: runningBundles('keeps what was sold, and sets nothing aside once the last rental with bandwidth is over'),
  },
  {
    name: 'orders under way lose their bandwidth with its price',
    changes: one(
      POOL_SYNC,
      'NOT settled AND bandwidth IS NOT NULL)',
      'NOT settled AND bandwidth IS NULL AND energy IS NULL)',
    ),
    test: runningBundles('delivers what was sold before'),
  },
  {
    name: 'the legs of one resource leave none to the other',
    changes: one(
      'modules/order-records/leg-transitions.ts',
      '(SELECT coalesce(max(leg_no), 0) FROM open_leg WHERE order_id = $1)::integer + $6::integer)',
      '$6::integer)',
    ),
    test: inParts('gets the bandwidth that it lacks, however many legs it has had'),
  },
  {
    name: 'an auto-delegation extends bandwidth at the price of energy',
    changes: one(
      'modules/auto-delegations/auto-delegation-claims.ts',
      `'\\\\_%' AND o.bandwidth IS NULL AS is_own`,
      `'\\\\_%' AS is_own`,
    ),
    test: {
      file: 'integration/auto-delegations/auto-delegation-bundles.test.ts',
      title: 'is followed by a rental of energy alone, and is not extended for the price of energy: under',
    },
  },
  {
    name: 'an adopted delegation of bandwidth counts as energy',
    changes: one(
      'modules/order-records/recovery-transitions.ts',
      `CASE $6 WHEN 'rental' THEN 1 END, CASE $6 WHEN 'bandwidth' THEN 1 END`,
      `1, CASE $6 WHEN 'bandwidth' THEN 1 END`,
    ),
    test: inParts('tells a mismatch of bandwidth from one of energy, and reclaims the owner’s delegations of both'),
  },
  {
    name: 'the bandwidth sold is reported as that of every item',
    changes: one(
      'modules/reports/report-sql.ts',
      `e.sun - part.bandwidth_sun - part.activation_sun, e.energy_sec, 0)`,
      `e.sun - part.bandwidth_sun - part.activation_sun, e.energy_sec, coalesce(e.bandwidth_sec, 0))`,
    ),
    test: {
      file: 'integration/fulfilment/bundle-readers.test.ts',
      title: 'shares an order by its items: each item to the wallets that deliver it',
    },
  },
];
