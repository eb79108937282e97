// Bugs at the edges of rules of money, auth and retention, and in what `verify` compares: each is caught by a named test.
import { one, SCHEMA, type PlantedBug } from './planted-bug.js';

const EDGES: readonly PlantedBug[] = [
  {
    name: 'a rate that fell is credited without a look',
    changes: one(
      'deposits/judgement.ts',
      'distance(rate.rate, rate.median) * 100n > rate.median * JUMP_PERCENT',
      '(rate.rate - rate.median) * 100n > rate.median * JUMP_PERCENT',
    ),
    test: { file: 'integration/deposits.test.ts', title: 'that is more than a tenth below the median of a day' },
  },
  {
    name: 'a rate that fell values small payments',
    changes: one(
      'deposits/rate-history.ts',
      'ELSE abs(r.rate_e8 - median.rate_e8) * 100',
      'ELSE (r.rate_e8 - median.rate_e8) * 100',
    ),
    test: { file: 'integration/deposits-small.test.ts', title: 'is not held while TRX is far below its median' },
  },
  {
    name: 'a sweep is worth it before what is kept behind',
    changes: one(
      'deposits/sweep-draft.ts',
      'planned === undefined || planned.transfer.amount < minimums.TRX',
      'planned === undefined',
    ),
    test: { file: 'integration/sweeps.test.ts', title: 'judges the minimum of a deposit after what is kept behind' },
  },
  {
    name: 'an address waits for a settlement though it is short of energy',
    changes: one(
      'auto-delegations/refill-plan.ts',
      'soon !== undefined && usable >= terms.refillBelow',
      'soon !== undefined',
    ),
    test: { file: 'unit/refill-plan.test.ts', title: 'waits to extend a rental until it is settled' },
  },
  {
    name: 'an extension puts a top-up that is on its way to rest',
    changes: one(
      SCHEMA,
      `next_run_at = CASE WHEN EXISTS (
        SELECT FROM open_leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END,`,
      'next_run_at = NULL,',
    ),
    test: { file: 'integration/extensions.test.ts', title: 'leaves a rental due whose top-up is on its way' },
  },
  {
    name: 'an event loses what it says before it has a position',
    changes: one('events/retention.ts', ' AND (e.type IS NULL OR e.position IS NOT NULL) AS is_over', ' AS is_over'),
    test: { file: 'integration/events.test.ts', title: 'an old event that waits for its position keeps it' },
  },
  {
    name: 'a process reads at the replica what is older than its own start',
    changes: one('store/replica.ts', 'mark > this.floor ? mark : this.floor', 'mark'),
    test: {
      file: 'long/replica.test.ts',
      title: 'a process reads nothing at the replica that is older than its own start',
    },
  },
  {
    name: 'nonces are deleted a minute early',
    changes: one(
      'auth/nonce-retention.ts',
      'WHERE expires_at < $2::timestamptz LIMIT',
      `WHERE expires_at < $2::timestamptz + interval '1 minute' LIMIT`,
    ),
    test: { file: 'integration/kept-rows.test.ts', title: 'a nonce is kept until it expires' },
  },
  {
    name: 'a page of the ledger skips entries of the same microsecond',
    changes: one(
      'statements/ledger-list.ts',
      '(created_at, id) < ($3::timestamptz, $4::bigint)',
      'created_at < $3::timestamptz AND $4::bigint >= 0',
    ),
    test: {
      file: 'integration/kept-rows.test.ts',
      title: 'pages of the ledger have every entry of the same microsecond',
    },
  },
];

const FALSEHOODS = 'integration/verify-falsehoods.test.ts';

const PROOFS: readonly PlantedBug[] = [
  {
    name: 'verify believes any credits of a price',
    changes: one('verify/order-terms-checks.ts', ' AND o.credits <> ${ORDER_CREDITS}', ' AND false'),
    test: { file: FALSEHOODS, title: 'more credits than the price is worth' },
  },
  {
    name: 'verify believes a top-up that nobody made',
    changes: one('verify/ledger-act-checks.ts', ' AND a.entry_key IS NULL AND', ' AND false AND'),
    test: { file: FALSEHOODS, title: 'a top-up without an act' },
  },
  {
    name: 'verify believes an event whatever it says',
    changes: one('verify/order-terms-checks.ts', `e.type LIKE 'order.%' AND p.said`, `e.type LIKE 'x.%' AND p.said`),
    test: { file: FALSEHOODS, title: 'an event with another price' },
  },
];

export const PLANTED_PROOF: readonly PlantedBug[] = [...EDGES, ...PROOFS];
