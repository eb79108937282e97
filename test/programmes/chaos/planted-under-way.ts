// Planted bugs in orders that a worker has claimed: work that only its release would make due, wake-ups meanwhile, and
// statements that lose a deadlock.
import { LEASES, one, ORDERS, SCHEDULE, type NamedTest, type PlantedBug } from './planted-bug.js';

const LOST_ENERGY = 'modules/order-records/lost-energy-sql.ts';

const ofLocks = (title: string): NamedTest => ({ file: 'integration/fulfilment/fulfilment-locks.test.ts', title });

export const PLANTED_UNDER_WAY: readonly PlantedBug[] = [
  {
    name: 'an order that a block delivered is planned as one that cannot be delivered',
    changes: one('modules/fulfilment/plan/plan.ts', "if (order.status === 'delivered') return false;", ''),
    test: { file: 'unit/fulfilment/plan.test.ts', title: 'is not undone once a block delivered it after all' },
  },
  {
    name: 'an order that a block has delivered is marked as being undone',
    changes: one(ORDERS, "AND status <> 'delivered' AND NOT settled AND", 'AND NOT settled AND'),
    test: ofLocks('an order that a block delivers after it was claimed is not marked as being undone'),
  },
  {
    name: 'a rental with a new top-up is due only once its worker releases it',
    changes: one(ORDERS, 'coalesce(o.next_run_at, clock_timestamp()) ELSE', 'o.next_run_at ELSE'),
    test: {
      file: 'long/fulfilment/running-rentals.test.ts',
      title: 'a top-up whose worker dies before it releases the rental is delivered by another worker',
    },
  },
  {
    name: 'a claimed reclaim does not learn that its wallet signs again',
    changes: one(
      SCHEDULE,
      '(next_run_at > clock_timestamp() OR lease_until IS NOT NULL)',
      'next_run_at > clock_timestamp()',
    ),
    test: ofLocks('a reclaim that was claimed before its wallet signed again is due as soon as it is released'),
  },
  {
    name: 'a single statement that loses a deadlock fails',
    changes: one(
      'platform/database/database.ts',
      'attempt >= ATTEMPTS_MAX || !isRetryable(error)',
      'attempt >= 1 || error === work',
    ),
    test: ofLocks(
      'transactions are sent in the same pass although recording it loses a deadlock over auto-delegations',
    ),
  },
  {
    name: 'rentals that get no further top-up take the places of others',
    changes: [
      ...one(LOST_ENERGY, " seconds')) r\n", " seconds') LIMIT $2) r\n"),
      ...one(LEASES, 'lost WHERE ${MAY_BE_TOPPED_UP} LIMIT $2', 'lost'),
    ],
    test: ofLocks('a rental that gets no further top-up does not keep rentals of other receivers from theirs'),
  },
];
