// Planted bugs for tests of the ordinary suite: too rare or too slow to show in chaos rounds.
import {
  BLOCKS,
  LEASES,
  NEW_BLOCKS,
  one,
  POOL_SYNC,
  PROOF,
  SCHEDULE,
  SCHEMA,
  SELLS_HELD,
  SETTLEMENT,
  SQL,
  TRANSACTIONS,
  type PlantedBug,
} from './planted-bug.js';

const guard = (title: string): { readonly file: string; readonly title: string } => ({
  file: 'integration/fulfilment/fulfilment-guards.test.ts',
  title,
});

const orders = (title: string): { readonly file: string; readonly title: string } => ({
  file: 'integration/orders/orders-guards.test.ts',
  title,
});

const bandwidthStake = (title: string): { readonly file: string; readonly title: string } => ({
  file: 'integration/pool/bandwidth-stake.test.ts',
  title,
});

const bundles = (title: string): { readonly file: string; readonly title: string } => ({
  file: 'integration/fulfilment/bundles.test.ts',
  title,
});

const orderItems = (title: string): { readonly file: string; readonly title: string } => ({
  file: 'unit/quotes/order-items.test.ts',
  title,
});

export const PLANTED_IN_TESTS: readonly PlantedBug[] = [
  {
    name: 'bandwidth for sale pays for transactions too',
    changes: one(
      POOL_SYNC,
      'const paidFor = this.paidFor(wallet, reading, ownNetLimit);',
      'const paidFor = this.paidFor(wallet, reading, resources?.netLimit ?? 0n);',
    ),
    test: bandwidthStake('sells bandwidth stake beyond the kept units once it has a price, and none without one'),
  },
  {
    name: 'bandwidth that open rentals need is for sale',
    changes: one(POOL_SYNC, 'keptUnits: kept > needed ? kept : needed', 'keptUnits: kept'),
    test: bandwidthStake('keeps the bandwidth that open rentals still need, however little it is told to keep'),
  },
  {
    name: 'delegations do not wait for the activation of their receiver',
    changes: one(
      'modules/fulfilment/plan/plan.ts',
      'else if (tx === undefined && awaitsActivation(order, leg)) return;',
      '',
    ),
    test: bundles('activates first, and delegates once the activation is in a block'),
  },
  {
    name: 'a refund returns an activation that the chain has',
    changes: [
      {
        file: 'modules/order-records/order-transitions.ts',
        find: `t.purpose = 'activate' AND t.status = 'solid') THEN activation_credits END`,
        put: `t.purpose = 'activate' AND t.status = 'solid' AND false) THEN activation_credits END`,
      },
    ],
    test: bundles('is returned except for a final activation, and says so'),
  },
  {
    name: 'a refund does not wait for the block of the activation to become solid',
    changes: one(
      'modules/fulfilment/plan/plan.ts',
      `leg.status === 'active' && liveTx(leg, 'activate')?.status === 'solid';`,
      `leg.status === 'active';`,
    ),
    test: {
      file: 'unit/fulfilment/plan.test.ts',
      title: 'waits for the fate of its activation before the refund',
    },
  },
  {
    name: 'an order is delivered without its bandwidth',
    changes: one(
      'modules/order-records/order-transitions.ts',
      ` AND (o.bandwidth IS NULL OR s.bandwidth >= o.bandwidth)`,
      ` AND (o.bandwidth IS NULL OR s.bandwidth < o.bandwidth)`,
    ),
    test: bundles('delivers energy and bandwidth as one order, and takes both back at its end'),
  },
  {
    name: 'bandwidth is reclaimed as energy',
    changes: one(
      'modules/fulfilment/send/transaction-sender.ts',
      `return { type: 'undelegate', ...parties, amountSun: leg.amountSun, resource };`,
      `return { type: 'undelegate', ...parties, amountSun: leg.amountSun, resource: 'ENERGY' };`,
    ),
    test: bundles('delivers energy and bandwidth as one order, and takes both back at its end'),
  },
  {
    name: 'each part of an order is rounded up by itself',
    changes: one(
      'domain/order-items.ts',
      '(creditsOf(to, rate) - creditsOf(from, rate))',
      'creditsOf((to - from) as Sun, rate)',
    ),
    test: orderItems('the parts of an order add up to its price and its charge, whatever is rounded'),
  },
  {
    name: 'bandwidth that costs as much as burning is sold',
    changes: one(
      'modules/quotes/bandwidth-price.ts',
      'if (isWorthRenting(price, bandwidthBurnPrice(wanted, fees)))',
      'if (price > 0n)',
    ),
    test: orderItems('bandwidth costs at least the floor, and less than burning it'),
  },
  {
    name: 'a new price of energy ends the price of bandwidth',
    changes: one(
      'modules/quotes/prices.ts',
      'upsert({ durationMaxSec, sunPerEnergy }',
      'upsert({ durationMaxSec, sunPerEnergy, sunPerBandwidth: null }',
    ),
    test: {
      file: 'long/operator/cli-bandwidth-price.test.ts',
      title: 'sets the price of bandwidth beside that of energy, and neither changes the other',
    },
  },
  {
    name: 'orders of one key are refused together beside the first of theirs',
    changes: one(
      SCHEMA,
      `RETURN NEXT CASE WHEN pg_try_advisory_xact_lock(1, hashtext(p_projects[i] || p_keys[i]))
      THEN order_refusal(p_projects[i], p_api_keys[i], p_keys[i], p_credits[i], p_refusals[i]) END;`,
      'RETURN NEXT order_refusal(p_projects[i], p_api_keys[i], p_keys[i], p_credits[i], p_refusals[i]);',
    ),
    test: orders('not even one of a recently refused project'),
  },
  {
    name: 'credits are as they were when an order was refused',
    changes: one(
      'modules/orders/refusal-throttle.ts',
      'const found = await this.judge(',
      "const found = notedMs > 0 ? 'INSUFFICIENT_CREDITS' : await this.judge(",
    ),
    test: orders('judges orders of recently refused projects together, by the state after their arrival'),
  },
  {
    name: 'a reverted return counts as returned',
    changes: one(
      SCHEDULE,
      'SET reclaimed_at = NULL, next_run_at = clock_timestamp()',
      'SET next_run_at = clock_timestamp()',
    ),
    test: guard('with a reclaim in it leaves the rental unreclaimed'),
  },
  {
    name: 'a block reverts what stands in another',
    changes: one(
      BLOCKS,
      `WHERE t.id = v.id AND t.status = 'included' AND t.block_id = v.block_id`,
      `WHERE t.id = v.id AND t.status = 'included'`,
    ),
    test: guard('reverts nothing that is in another block by now'),
  },
  {
    name: 'one node reverts what another still has',
    changes: one(NEW_BLOCKS, 'if (block?.id === blockId) return true;', ''),
    test: guard('reported by one node alone reverts nothing that another node still has'),
  },
  {
    name: 'settled whatever the block’s time',
    changes: one(
      SETTLEMENT,
      'blockId === block.id && tx.block_at.getTime() === block.timestampMs',
      'blockId === block.id',
    ),
    test: guard('requires the block’s own time in the records'),
  },
  {
    name: 'settled whatever the block’s id',
    changes: one(
      SETTLEMENT,
      'blockId === block.id && tx.block_at.getTime() === block.timestampMs',
      'tx.block_at.getTime() === block.timestampMs',
    ),
    test: guard('requires the block’s own id in the records'),
  },
  {
    name: 'a proof reads blocks that do not link',
    changes: one(PROOF, 'if (previous !== undefined && block.parentId !== previous.id) {', 'if (previous === null) {'),
    test: guard('fails with blocks that do not link'),
  },
  {
    name: 'bytes that waited too long are sent all the same',
    changes: one(
      'modules/fulfilment/advance/recorded-transactions.ts',
      'view !== undefined && step.tx.expiresAtMs < view.head.timestampMs + VALIDITY_LEFT_MIN_MS',
      'false',
    ),
    test: guard('with little validity left are rebuilt instead of sent'),
  },
  {
    name: 'a view of the chain never grows old',
    changes: one(
      'modules/fulfilment/follow/chain-view.ts',
      'monotonicMs() - this.readAtMs <= VIEW_AGE_MAX_MS',
      'this.readAtMs > 0',
    ),
    test: {
      file: 'unit/fulfilment/chain-view.test.ts',
      title: 'drops a view that is not renewed, and returns it again after a renewal',
    },
  },
  {
    name: 'a signature is recorded without the claim',
    changes: one(
      TRANSACTIONS,
      `open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence\n       WHERE t.status = 'built'`,
      `open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id\n       WHERE t.status = 'built'`,
    ),
    test: guard('records no signature'),
  },
  {
    name: 'a death is recorded without the claim',
    changes: one(
      TRANSACTIONS,
      `open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id AND o.fence = v.fence\n       WHERE t.status = 'sending'`,
      `open_chain_tx t ON t.id = v.id JOIN open_orders o ON o.id = t.order_id\n       WHERE t.status = 'sending'`,
    ),
    test: guard('records no death'),
  },
  {
    name: 'a wake-up takes an order from its living holder',
    changes: one(
      LEASES,
      '       AND ${IS_FREE}\n       AND ${RECOVERY_IS_DONE}\n     ORDER BY id',
      '       AND ${RECOVERY_IS_DONE}\n     ORDER BY id',
    ),
    test: guard('is not taken from a living holder by a wake-up that names the order'),
  },
  {
    name: 'capacity forgets what landed while it was read',
    changes: [
      SELLS_HELD,
      {
        file: POOL_SYNC,
        find: `OR (l.status = 'active' AND l.changed_at >= $2)`,
        put: `OR (l.status = 'active' AND l.changed_at >= $2::timestamptz + interval '1 day')`,
      },
      { file: POOL_SYNC, find: "'1 hour' AND ${IS_IN_LATER_BLOCK})", put: "'1 hour' AND $3::bigint IS NULL)" },
    ],
    test: guard('is not sold twice when a delegation lands between a wallet’s reading and its writing'),
  },
  {
    name: 'a wallet is read at a node one block behind',
    changes: [
      SELLS_HELD,
      { file: POOL_SYNC, find: "'1 hour' AND ${IS_IN_LATER_BLOCK})", put: "'1 hour' AND $3::bigint IS NULL)" },
    ],
    test: {
      file: 'long/fulfilment/fulfilment-nodes.test.ts',
      title: 'does not sell the newest leg again by a node that is one block behind',
    },
  },
  {
    name: 'what legs hold is sold by the word of a backend that lags',
    changes: [SELLS_HELD],
    test: {
      file: 'long/fulfilment/fulfilment-nodes.test.ts',
      title: 'does not sell legs again by a lagging backend behind a current node’s name',
    },
  },
  {
    name: 'a return in the mempool is sold already',
    changes: [
      SELLS_HELD,
      { file: POOL_SYNC, find: `OR (l.status = 'reclaiming' AND (SELECT true`, put: `OR (false AND (SELECT true` },
    ],
    test: guard('of a return that is in no block yet is not sold'),
  },
  {
    name: 'a refund lowers what any day has spent',
    changes: one(SQL, `WHEN a.spent_on = (c.created_at AT TIME ZONE 'UTC')::date`, 'WHEN true'),
    test: orders('a refund of another day’s order leaves today’s spending unchanged'),
  },
  {
    name: 'a leg smaller than the chain lets one delegate',
    changes: [
      {
        file: SCHEMA,
        find: 'IF v_left > v_take AND v_left - v_take + p_leg_slack < 1000000 THEN',
        put: 'IF false THEN',
      },
      { file: SCHEMA, find: `IF v_take < 1000000 AND p_kind <> 'activation' THEN CONTINUE; END IF;`, put: '' },
    ],
    test: orders('an order over several wallets has no leg below the chain’s minimum'),
  },
  {
    name: 'the database lets a refund pass while a leg is open',
    changes: one(SCHEMA, `IF NEW.status = 'refunded' THEN`, `IF false THEN`),
    test: guard('refuses a refund while a leg may still be delivered'),
  },
  {
    name: 'a return is recalled before the rental’s end',
    changes: one('modules/reconciliation/backup-recovery.ts', 'o.ends_at <= $5 OR', 'o.ends_at IS NOT NULL OR'),
    test: guard('that takes back a running rental is not recorded as its reclaim'),
  },
  {
    name: 'an orphan is reclaimed though less of it stands',
    changes: one('modules/reconciliation/orphan-reclaims.ts', 'if (excess.least < row.amount_sun || ', 'if ('),
    test: guard('is reclaimed only while all of it exists: less would be taken from a rental of the same receiver'),
  },
  {
    name: 'two invitations of one person are open',
    changes: one('modules/people/invitations.ts', '      await holdPlace(tx, place);', ''),
    test: {
      file: 'integration/console/console-team.test.ts',
      title: 'is a person’s only open one, after any number of concurrent ones',
    },
  },
  {
    name: 'an invitation is made for who takes another one meanwhile',
    changes: one(
      'modules/people/invitations.ts',
      '    await holdPlace(tx, { audience, projectId: projectId ?? undefined });',
      '',
    ),
    test: {
      file: 'integration/console/console-team.test.ts',
      title: 'is not created for a person who accepts another one meanwhile, because it would undo the role',
    },
  },
  {
    name: 'a node’s words are kept with whatever is in them',
    changes: one('platform/support/foreign-text.ts', `.replace(/\\p{Cc}+/gu, ' ')`, ''),
    test: {
      file: 'long/fulfilment/wallet-delivery.test.ts',
      title: 'pauses the wallet at once; the transaction keeps its proof, and another wallet makes the next attempt',
    },
  },
  {
    name: 'a cursor is whatever can be read as one',
    changes: one('domain/cursor.ts', `if (bytes.toString('base64url') !== cursor) return undefined;`, ''),
    test: { file: 'unit/http/cursor.test.ts', title: 'rejects a cursor with any addition that no page returned' },
  },
];
