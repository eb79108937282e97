// Planted bugs at the boundaries of rules for money, auth and retention, and in the comparisons of `verify`. A named
// test catches each.
import { one, SCHEMA, type PlantedBug } from './planted-bug.js';

const EDGES: readonly PlantedBug[] = [
  {
    name: 'a rate that fell is credited without a look',
    changes: one(
      'modules/deposits/judgement.ts',
      'distance(rate.rate, rate.median) * 100n > rate.median * JUMP_PERCENT',
      '(rate.rate - rate.median) * 100n > rate.median * JUMP_PERCENT',
    ),
    test: {
      file: 'unit/domain/rounding.test.ts',
      title: 'doubts a TRX rate beyond a tenth of its median, above and below',
    },
  },
  {
    name: 'a rate that fell values small payments',
    changes: one(
      'modules/deposits/rate-history.ts',
      'ELSE abs(r.rate_e8 - median.rate_e8) * 100',
      'ELSE (r.rate_e8 - median.rate_e8) * 100',
    ),
    test: {
      file: 'integration/deposits/deposits-small.test.ts',
      title: 'its median, and its sum is credited at the first normal rate',
    },
  },
  {
    name: 'a sweep is worth it before what is kept behind',
    changes: one(
      'modules/deposits/sweep-draft.ts',
      'planned === undefined || planned.transfer.amount < minimums.TRX',
      'planned === undefined',
    ),
    test: {
      file: 'integration/deposits/sweeps.test.ts',
      title: 'judges the minimum of a deposit after the amount left behind',
    },
  },
  {
    name: 'an address waits for a settlement though it is short of energy',
    changes: one(
      'modules/auto-delegations/refill-plan.ts',
      'soon !== undefined && usable >= terms.refillBelow',
      'soon !== undefined',
    ),
    test: {
      file: 'unit/auto-delegations/refill-plan.test.ts',
      title: 'waits to extend a rental until it is settled, unless the address runs short before',
    },
  },
  {
    name: 'an extension puts a top-up that is on its way to rest',
    changes: one(
      SCHEMA,
      `next_run_at = CASE WHEN EXISTS (
        SELECT FROM open_leg l WHERE l.order_id = o.id AND l.status IN ('reserved', 'placed')) THEN clock_timestamp() END,`,
      'next_run_at = NULL,',
    ),
    test: {
      file: 'integration/orders/extensions.test.ts',
      title: 'leaves a rental due while its top-up is pending, and any other at rest',
    },
  },
  {
    name: 'an event that gets its position late is kept for ever',
    changes: one('modules/events/retention.ts', 'b.is_numbered AND CASE WHEN b.at', 'CASE WHEN b.at'),
    test: {
      file: 'integration/events/events.test.ts',
      title: 'an old event that waits for its position keeps it and its payload, and is deleted once numbered',
    },
  },
  {
    name: 'a process reads at the replica what is older than its own start',
    changes: one('platform/database/replica.ts', 'mark > this.floor ? mark : this.floor', 'mark'),
    test: {
      file: 'long/database/replica.test.ts',
      title: 'a process reads nothing at the replica that is older than its own start, whatever a cursor asks for',
    },
  },
  {
    name: 'nonces are deleted a minute early',
    changes: one(
      'modules/auth/nonce-retention.ts',
      'WHERE expires_at < $2::timestamptz LIMIT',
      `WHERE expires_at < $2::timestamptz + interval '1 minute' LIMIT`,
    ),
    test: { file: 'integration/database/kept-rows.test.ts', title: 'keeps a nonce until it expires' },
  },
  {
    name: 'a page of the ledger skips entries of the same microsecond',
    changes: one(
      'modules/statements/ledger-list.ts',
      '(created_at, id) < ($3::timestamptz, $4::bigint)',
      'created_at < $3::timestamptz AND $4::bigint >= 0',
    ),
    test: {
      file: 'integration/database/kept-rows.test.ts',
      title: 'pages of the ledger have every entry of the same microsecond, once',
    },
  },
];

const ROUNDING = 'unit/domain/rounding.test.ts';
const BOUNDS = 'integration/billing/ledger-bounds.test.ts';
const REFILL = 'modules/auto-delegations/refill-plan.ts';
const REFILL_TEST = 'unit/auto-delegations/refill-plan.test.ts';

const BOUNDS_OF_MONEY: readonly PlantedBug[] = [
  {
    name: 'a correction takes a balance below its floor',
    changes: one(
      'modules/billing/ledger-sql.ts',
      'balance_credits + $2 >= floor_credits)',
      'balance_credits >= floor_credits)',
    ),
    test: { file: BOUNDS, title: 'a correction lowers a balance to its floor, and no credit further' },
  },
  {
    name: 'a balance grows beyond a JSON integer',
    changes: one('modules/billing/ledger-sql.ts', ' AND balance_credits + $2 <= 9007199254740991', ''),
    test: { file: BOUNDS, title: 'a booking raises a balance to the largest JSON integer, and no credit further' },
  },
  {
    name: 'a top-up leaves no room for the refunds of open orders',
    changes: one(
      'modules/billing/bookings.ts',
      'if (credits > 0n && account.balance_credits > sql.ROOMY_BALANCE)',
      'if (false)',
    ),
    test: { file: BOUNDS, title: 'bookings and deposits leave room for the refunds of open orders' },
  },
  {
    name: 'a deposit leaves no room for the refunds of open orders',
    changes: one(
      'modules/billing/ledger-sql.ts',
      'CASE WHEN a.balance_credits > ${ROOMY} THEN',
      'CASE WHEN false THEN',
    ),
    test: { file: BOUNDS, title: 'bookings and deposits leave room for the refunds of open orders' },
  },
  {
    name: 'the time of a debit decides on an overdraft',
    changes: one(
      'modules/verify/ledger-checks.ts',
      "coalesce((l.detail ->> 'lastEntryId')::bigint >= e.id, l.at >= e.created_at - interval '1 minute')",
      "l.at >= e.created_at - interval '1 minute'",
    ),
    test: {
      file: 'integration/billing/money-edges.test.ts',
      title: 'a debit written by a clock ahead is no overdraft once the limit is lowered',
    },
  },
  {
    name: 'a deposit is worth a credit more',
    changes: one(
      'modules/deposits/judgement.ts',
      'return (worth * CREDITS_PER_USD) / (UNITS_PER_WHOLE * RATE_SCALE);',
      'return (worth * CREDITS_PER_USD + UNITS_PER_WHOLE * RATE_SCALE - 1n) / (UNITS_PER_WHOLE * RATE_SCALE);',
    ),
    test: { file: ROUNDING, title: 'rounds the credits of a deposit down' },
  },
  {
    name: 'a simulation has no margin',
    changes: one('domain/conversion.ts', 'divCeil(used * 110n, 100n)', 'divCeil(used * 100n, 100n)'),
    test: { file: ROUNDING, title: 'rounds the energy of a simulation with its margin up' },
  },
  {
    name: 'a delegation gives an energy less than was sold',
    changes: one(
      'modules/pool/energy-ratio.ts',
      'return (divCeil(amount, SUN_PER_TRX) * SUN_PER_TRX) as Sun;',
      'return amount as Sun;',
    ),
    test: { file: ROUNDING, title: 'delegates at least the sold energy, at any ratio of the network' },
  },
];

const PLANS: readonly PlantedBug[] = [
  {
    name: 'a rental is reclaimed when others end a part of it',
    changes: one(
      'modules/fulfilment/plan/plan.ts',
      `(leg.status === 'reclaimed' && !leg.isClosed)`,
      `leg.status === 'reclaimed'`,
    ),
    test: { file: 'unit/fulfilment/plan.test.ts', title: 'comes by the chain’s clock, to the millisecond' },
  },
  {
    name: 'a rental that ended makes up for what another one lost',
    changes: one(
      'modules/fulfilment/plan/usage-losses.ts',
      'usage.rentals.filter(({ endsAtMs }) => endsAtMs > clockMs)',
      'usage.rentals.filter(({ endsAtMs }) => endsAtMs > 0)',
    ),
    test: { file: 'unit/fulfilment/usage-losses.test.ts', title: 'the surplus of an ended rental compensates nothing' },
  },
  {
    name: 'final blocks half a minute apart count as an outage',
    changes: one(
      'modules/fulfilment/follow/chain-view.ts',
      'nowMs - this.solidMovedAtMs > SOLID_GAP_MS',
      'nowMs - this.solidMovedAtMs > GAP_MS',
    ),
    test: {
      file: 'unit/fulfilment/chain-view.test.ts',
      title: 'counts the chain as moving once blocks come again, with final blocks up to a minute apart',
    },
  },
  {
    name: 'a short rental is replaced from its beginning',
    changes: one(REFILL, 'Math.min(REFILL_LEAD_SEC, terms.durationSec / 2)', 'REFILL_LEAD_SEC'),
    test: { file: REFILL_TEST, title: 'plans ahead by half of the duration if that is less than a minute' },
  },
  {
    name: 'an auto-delegation whose time is over goes on buying',
    changes: one(
      REFILL,
      'const restsAtMs = Math.min(idleAtMs, terms.untilMs ?? idleAtMs);',
      'const restsAtMs = idleAtMs;',
    ),
    test: { file: REFILL_TEST, title: 'buys nothing after the idle time, or after its end' },
  },
  {
    name: 'an address that is unused for just long enough is supplied once more',
    changes: one(REFILL, 'if (clockMs >= restsAtMs)', 'if (clockMs > restsAtMs)'),
    test: { file: REFILL_TEST, title: 'buys nothing after the idle time, or after its end' },
  },
  {
    name: 'what is on its way is counted on though it ends within a minute',
    changes: one(
      REFILL,
      'const effective = left + coming - sum((rental) => rental.coming, leaving);',
      'const effective = left + coming;',
    ),
    test: { file: REFILL_TEST, title: 'does not count pending energy for a rental that ends within a minute' },
  },
];

const FALSEHOODS = 'long/verify/verify-falsehoods.test.ts';

const PROOFS: readonly PlantedBug[] = [
  {
    name: 'verify believes any credits of a price',
    changes: one('modules/verify/order-terms-checks.ts', ' AND o.credits <> ${ORDER_CREDITS}', ' AND false'),
    test: { file: FALSEHOODS, title: 'a falsehood of' },
  },
  {
    name: 'verify believes a top-up that nobody made',
    changes: one('modules/verify/ledger-act-checks.ts', ' AND a.entry_key IS NULL AND', ' AND false AND'),
    test: { file: FALSEHOODS, title: 'a falsehood of' },
  },
  {
    name: 'verify believes an event whatever it says',
    changes: one(
      'modules/verify/order-terms-checks.ts',
      `e.type LIKE 'order.%' AND p.said`,
      `e.type LIKE 'x.%' AND p.said`,
    ),
    test: { file: FALSEHOODS, title: 'a falsehood of' },
  },
];

export const PLANTED_PROOF: readonly PlantedBug[] = [...EDGES, ...BOUNDS_OF_MONEY, ...PLANS, ...PROOFS];
