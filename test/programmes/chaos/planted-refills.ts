// Planted bugs in refills of auto-delegated addresses, each with the test that must catch it.
import { one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const PLAN = 'modules/auto-delegations/refill-plan.ts';
const CLAIMS = 'modules/auto-delegations/auto-delegation-claims.ts';
const PURCHASES = 'modules/auto-delegations/refill-purchases.ts';
const once = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegation-once.test.ts',
  title,
});
const refills = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegation-refills.test.ts',
  title,
});
const pauses = (title: string): NamedTest => ({ file: 'long/auto-delegations/auto-delegation-pauses.test.ts', title });
const nodes = (title: string): NamedTest => ({ file: 'long/auto-delegations/auto-delegation-nodes.test.ts', title });
const scale = (title: string): NamedTest => ({ file: 'long/auto-delegations/auto-delegation-scale.test.ts', title });
const plan = (title: string): NamedTest => ({ file: 'unit/auto-delegations/refill-plan.test.ts', title });

export const PLANTED_REFILLS: readonly PlantedBug[] = [
  {
    name: 'two orders are bought for one use',
    changes: one(SCHEMA, 'AND a.purchases = p_number - 1 AND a.open_order_id IS NULL\n       AND CASE', 'AND CASE'),
    test: once('lets only one of two workers buy for the same need, even if the other reads the purchase number again'),
  },
  {
    name: 'a purchase that waited for the row is made whatever came meanwhile',
    changes: one(SCHEMA, 'AND a.project_id = p_project AND a.fence = p_fence', 'AND a.project_id = p_project'),
    test: once('refuses a purchase whose row changed while it waited'),
  },
  {
    name: 'a rental that cannot be extended is not replaced',
    changes: one(PURCHASES, 'if (REPLACED.has(outcome.refused)) return this.buyOrder(row, replacement, clockMs);', ''),
    test: once('immediately replaces a rental that cannot be extended after all'),
  },
  {
    name: 'a rental of a wallet that may not sell is left to its end',
    changes: one(PURCHASES, "new Set(['NOT_EXTENDABLE', 'CAPACITY_UNAVAILABLE'])", "new Set(['NOT_EXTENDABLE'])"),
    test: once('replaces a rental of a paused wallet by one of another wallet before it ends'),
  },
  {
    name: 'a rental is extended whole where less is kept by now',
    changes: one(PLAN, 'rental.isOwn && rental.energy <= terms.keepEnergy &&', 'rental.isOwn &&'),
    test: refills('is followed by a rental of the new, smaller amount'),
  },
  {
    name: 'nobody learns that nothing is sold for an address',
    changes: one(PURCHASES, 'return wanted < least && least <= row.keep_energy;', 'return wanted < row.keep_energy;'),
    test: pauses('pauses it once where everything kept is below that by now, however much of it is missing'),
  },
  {
    name: 'what a caller bought under a key like theirs is a purchase of an auto-delegation',
    changes: one('modules/verify/auto-delegation-checks.ts', ' AND request_id = key\n', '\n'),
    test: pauses(
      'reports a number that was left out, and not what a caller bought under such a key when callers could',
    ),
  },
  {
    name: 'an order that is over holds up an auto-delegation unseen',
    changes: one(
      'modules/verify/auto-delegation-checks.ts',
      "(a.purchases <> n.number OR p.status IN ('delivered', 'refunded'))",
      'a.purchases <> n.number',
    ),
    test: pauses('reports a purchase that was not counted, is for another address, or is over but recorded as open'),
  },
  {
    name: 'a rental that ends in a minute is counted on',
    changes: one(PLAN, 'const lost = sum((rental) => rental.standing, leaving);', 'const lost = 0n;'),
    test: plan('does not count a rental that ends within a minute'),
  },
  {
    name: 'a rental that was reclaimed is missed a second time',
    changes: one(
      PLAN,
      '!isReclaimed && endsAtMs !== undefined && endsAtMs <=',
      'endsAtMs !== undefined && endsAtMs <=',
    ),
    test: plan('does not subtract an already reclaimed rental a second time'),
  },
  {
    name: 'what is on its way is bought once more',
    changes: one(
      PLAN,
      'const effective = left + coming - sum((rental) => rental.coming, leaving);',
      'const effective = left;',
    ),
    test: plan('does not buy pending energy a second time'),
  },
  {
    name: 'what was used is all left to the rentals that stay',
    changes: one(PLAN, '(readable * atLeastZero(reading.limit - lost)) / reading.limit', 'readable - lost'),
    test: plan('an ending rental takes its share of the usage, and the rest remains'),
  },
  {
    name: 'there is a gap at a change of rentals',
    changes: one(PLAN, 'Math.min(REFILL_LEAD_SEC, terms.durationSec / 2) * 1000', '0'),
    test: refills('is replaced a minute before its end if it is short, without a gap'),
  },
  {
    name: 'crumbs are bought for ever',
    changes: [
      ...one(PURCHASES, 'if (wanted < energyMin) return NOTHING;', ''),
      ...one(PURCHASES, '? energyMax : wanted);', '? energyMax : wanted < 50_000n ? 50_000n : wanted);'),
    ],
    test: refills('waits without a pause while the missing amount is not worth renting'),
  },
  {
    name: 'the cap of an auto-delegation is not part of the charge',
    changes: one(
      SCHEMA,
      'AND CASE WHEN a.spent_on >= v_today THEN a.spent_credits ELSE 0 END + p_credits <= a.daily_cap_credits',
      'AND true',
    ),
    test: pauses('the daily cap is charged together with the balance, and holds exactly'),
  },
  {
    name: 'a use ends the check that is under way',
    changes: one(
      'modules/auto-delegations/use-observer.ts',
      'failures = 0, ${DUE_NOW}',
      'failures = 0, ${DUE_NOW}, fence = a.fence + 1',
    ),
    test: nodes('the shortfall is bought though the address is used again, and the address is checked again'),
  },
  {
    name: 'a use during a check is forgotten when it ends',
    changes: one(CLAIMS, 'CASE WHEN due_again THEN 0 ELSE $9 END', '$9'),
    test: nodes('the shortfall is bought though the address is used again, and the address is checked again'),
  },
  {
    name: 'a check that stood still buys at the prices of then',
    changes: one(
      'modules/auto-delegations/refill-statement.ts',
      'if (isLeaseOver(claimed)) return { refused: MOVED };',
      '',
    ),
    test: once('refuses a purchase whose claim is older than a check may take'),
  },
  {
    name: 'who has much that is due has all of it checked before others',
    changes: one(CLAIMS, 'ORDER BY place, at LIMIT $1', 'ORDER BY at LIMIT $1'),
    test: scale('those of other projects are next all the same:'),
  },
  {
    name: 'a key that may not order any more goes on paying for auto-delegations',
    changes: one(SCHEMA, "AND 'order' = ANY (k.scopes)", 'AND true'),
    test: pauses('an auto-delegation stops while the API key that set it may not order'),
  },
  {
    name: 'what is due is looked for in all auto-delegations',
    changes: one(CLAIMS, '{at} <= statement_timestamp(){more}', '{at} <= clock_timestamp(){more}'),
    test: scale('what is due is claimed without reading the others'),
  },
  {
    name: 'an answer from before our newest delegation has its energy bought again',
    changes: one(
      'modules/auto-delegations/address-check.ts',
      'if (plan.refill !== undefined && isJustDelegated(',
      'if (false && isJustDelegated(',
    ),
    test: nodes(
      'a node that does not know it yet causes none where others delegate to the address too, so that its answer is credible',
    ),
  },
  {
    name: 'one answer decides after an order has moved',
    changes: one('modules/auto-delegations/address-check.ts', 'if (row.change_at === null) return true;', ''),
    test: nodes('a node that still shows what was reclaimed a block ago is asked again with the next block'),
  },
  {
    name: 'a rental that its merchant extended is extended once more',
    changes: one(
      SCHEMA,
      "AND o.ends_at - p_duration * interval '1 second'",
      "AND false AND o.ends_at - p_duration * interval '1 second'",
    ),
    test: nodes('a rental that its merchant extends is not extended a second time'),
  },
];
