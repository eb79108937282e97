// Planted bugs for the second resource of an order: bandwidth beside energy.
import { ENDING, one, ORDERS, type NamedTest, type PlantedBug } from './planted-bug.js';

const RUNNING = 'modules/fulfilment/plan/running-rentals.ts';

const runningBundles = (title: string): NamedTest => ({
  file: 'integration/fulfilment/running-bundles.test.ts',
  title,
});

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
];
