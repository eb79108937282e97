// Planted bugs of keys, queues and limits, each with the test that must catch it.
import { NEW_BLOCKS, one, SENDER, type NamedTest, type PlantedBug } from './planted-bug.js';

const inTest =
  (file: string) =>
  (title: string): NamedTest => ({ file, title });
const integration = (name: string): ((title: string) => NamedTest) => inTest(`integration/${name}.test.ts`);
const long = (name: string): ((title: string) => NamedTest) => inTest(`long/${name}.test.ts`);

export const PLANTED_KEYS: readonly PlantedBug[] = [
  {
    name: 'an expiration years ahead is signed',
    changes: one('modules/signer/policy.ts', 'if (late !== undefined) throw', 'if (late === null) throw'),
    test: integration('signer/signer-limits')(
      'in the chain’s own time is allowed if the signer is configured for it, at a bounded pace',
    ),
  },
  {
    name: 'the signer lends the bandwidth of every wallet',
    changes: one(
      'modules/signer/policy.ts',
      "if (says.resource !== 'ENERGY' && !wallet.sellsBandwidth) {",
      'if (says.resource === undefined) {',
    ),
    test: integration('signer/signer')('bandwidth instead of energy'),
  },
  {
    name: 'a delegation of bandwidth passes for one of energy',
    changes: one(
      'platform/chain/signed-transaction.ts',
      'return a.amountSun === b.amountSun && a.resource === b.resource;',
      'return a.amountSun === b.amountSun;',
    ),
    test: inTest('unit/chain/signed-transaction.test.ts')('tells apart delegations of the two resources'),
  },
  {
    name: 'a refused signature pauses nothing',
    changes: one(
      SENDER,
      'for (const [walletId, message] of byWallet) await this.walletHealth.recordRefusal(walletId, message);',
      '',
    ),
    test: long('fulfilment/wallet-delivery')(
      'pauses the wallet at once; the transaction keeps its proof, and another wallet makes the next attempt',
    ),
  },
  {
    name: 'orders stay with a wallet that cannot deliver',
    changes: one(
      'modules/fulfilment/plan/plan.ts',
      'if (!leg.canDeliver && isUnsent(tx)) draft.move.push(leg);\n  else if',
      'if',
    ),
    test: long('fulfilment/wallet-delivery')(
      'is paused with its reason, and the other wallet delivers every open order',
    ),
  },
  {
    name: 'a reclaim takes what another order holds',
    changes: one(
      'modules/fulfilment/plan/reclaim-guard.ts',
      `isCovered ? 'covered' : 'short'`,
      `sun >= 0n ? 'covered' : 'short'`,
    ),
    test: long('reconciliation/foreign-acts')(
      'after the reclaim was signed, but before it was sent, stops the sending',
    ),
  },
  {
    name: 'a reclaim that fails is tried without rest',
    changes: one(
      'modules/fulfilment/plan/reclaim-pace.ts',
      'return Math.max(0, restSec - failed.lastAgeSec) * 1000;',
      'return restSec * 0;',
    ),
    test: long('reconciliation/foreign-acts')('that cannot be signed is retried ever more rarely, and shown to people'),
  },
  {
    name: 'what the network’s growth takes is not made up for',
    changes: one(
      'modules/order-records/order-leases.ts',
      'WHERE sun_per_energy_e6 < $3',
      'WHERE sun_per_energy_e6 < $3 AND false',
    ),
    test: long('fulfilment/running-rentals')(
      'a rental that the network’s growth halves is topped up to what was sold, and all of it is reclaimed at its end',
    ),
  },
  {
    name: 'a rental is topped up while a top-up is on its way',
    changes: one(
      'modules/fulfilment/plan/running-rentals.ts',
      `if (short === undefined || standingLegs(order, resource).some((leg) => leg.status !== 'active')) return undefined;`,
      'if (short === undefined) return undefined;',
    ),
    test: long('fulfilment/running-rentals')(
      'while a top-up is on its way no other one is made, however far the network grows',
    ),
  },
  {
    name: 'one held order holds up the inclusion of all',
    changes: one(
      'modules/order-records/block-transitions.ts',
      `AND t.status = 'sending'\n    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
      `AND t.status = 'sending'\n    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l`,
    ),
    test: long('fulfilment/fulfilment-nodes')(
      'skips a transaction whose rows another session holds for the others of its block, and counts it once they are free',
    ),
  },
  {
    name: 'what another session held is forgotten',
    changes: one(NEW_BLOCKS, 'this.pendingInclusions.set(block, applied?.left ?? txids, ratio);', ''),
    test: long('fulfilment/fulfilment-nodes')(
      'skips a transaction whose rows another session holds for the others of its block, and counts it once they are free',
    ),
  },
  {
    name: 'an explanation holds for any amount',
    changes: one(
      'modules/verify/finding.ts',
      'return amount > 0n ? amount <= explained : amount >= explained;',
      'return amount !== undefined || explained !== undefined;',
    ),
    test: long('explain/explained')(
      'an explanation covers the explained amount and less, and neither more nor the opposite sign',
    ),
  },
  {
    name: 'what was dropped or is dead counts as known on chain',
    changes: one('modules/verify/unrecorded-acts.ts', `'built', 'signed', 'dropped', 'dead'`, `'built', 'signed'`),
    test: long('reconciliation/reconciler')('dropped bytes that are in a block are an unrecorded act, and reclaimed'),
  },
  {
    name: 'orders are claimed on a server whose past is not known',
    changes: one(
      'modules/order-records/recovery-condition.ts',
      'SELECT coalesce(server_mark = server_mark(), true) AND search_until IS NULL FROM reconcile_state',
      'SELECT true FROM reconcile_state',
    ),
    test: long('reconciliation/reconciler')(
      'fulfils nothing on another server, or from restored data, before the chain is searched',
    ),
  },
  {
    name: 'a lost act is given to an order that has bytes of its own',
    changes: one(
      'modules/reconciliation/backup-recovery.ts',
      `EXISTS (SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose = $4
                    AND t.status IN ('built', 'signed')), (o.ends_at`,
      '(o.ends_at',
    ),
    test: long('reconciliation/backup-recovery')(
      'bytes on record stay with their own order, although an equal act of another order comes before them',
    ),
  },
  {
    name: 'a return is matched before its delivery is known to be there',
    changes: one(
      'modules/reconciliation/backup-recovery.ts',
      'if (found.act.type === UNDELEGATE_TYPE) await this.followDeliveries(found, block, ratio);',
      '',
    ),
    test: long('reconciliation/backup-recovery')(
      'a return also belongs to its order when the records only know that the delivery before it was sent',
    ),
  },
  {
    name: 'what a node answered wrongly of a block is never read again',
    changes: one(
      'modules/fulfilment/follow/settlement.ts',
      'for (const { node, header } of agreeing) node.blocks.forget(header);',
      '',
    ),
    test: long('fulfilment/witnesses')(
      'is made once the node that gave other transactions of its block gives the right ones',
    ),
  },
  {
    name: 'one node is believed of what a block does not hold',
    changes: one('modules/reconciliation/searched-blocks.ts', 'await this.compare(node, known, others);', ''),
    test: long('fulfilment/lying-node')(
      'one node alone leaving out an act of our wallets hides nothing: the block is searched again',
    ),
  },
  {
    name: 'a block that was passed unsearched is forgotten',
    changes: one('modules/reconciliation/unrecorded-search.ts', 'ORDER BY number`;', 'WHERE false`;'),
    test: long('reconciliation/unrecorded-acts')(
      'an act in a block that was skipped is found later, also by another worker',
    ),
  },
  {
    name: 'the chain is searched only as often as records are judged',
    changes: one('modules/reconciliation/reconciler.ts', 'isForced || monotonicMs() >= this.searchDueAtMs', 'isForced'),
    test: long('reconciliation/reconciler-pace')(
      'a foreign act is matched with its rental while the next pass waits after a slow one',
    ),
  },
  {
    name: 'the reconciler rests for what it waited for nodes',
    changes: one(
      'modules/reconciliation/reconciler.ts',
      'restSec(this.config.worker.reconcileSec, report.recordsMs / 1000)',
      'restSec(this.config.worker.reconcileSec, report.tookMs / 1000)',
    ),
    test: long('reconciliation/reconciler-pace')(
      'a pass that waited for slow nodes is followed by the next one without an extra rest',
    ),
  },
  {
    name: 'a caller sends a key that the service makes itself',
    changes: one('platform/http/pipeline/idempotency-key.ts', '/^(?:ext|nonce|auto)_/', '/^(?:ext|nonce)_/'),
    test: integration('http/pipeline')('refuses the Idempotency-Key'),
  },
  {
    name: 'a key that is no part of a path is accepted',
    changes: one(
      'platform/http/pipeline/idempotency-key.ts',
      "if (key === '.' || key === '..') {",
      "if (key === '..') {",
    ),
    test: integration('http/pipeline')('refuses the Idempotency-Key'),
  },
  {
    name: 'a purchase is told apart by the request id that its caller chose',
    changes: one(
      'platform/support/purchase-reference.ts',
      "randomBytes(RANDOM_BYTES).toString('base64url')",
      "randomBytes(RANDOM_BYTES).fill(0).toString('base64url')",
    ),
    test: integration('orders/own-purchases')('is new to its own request alone'),
  },
  {
    name: 'a second rotation ends the overlap of the first',
    changes: one('modules/projects/key-rows.ts', 'if (running !== undefined) {', 'if (running === null) {'),
    test: integration('projects/api-keys')('key does not end the secret whose overlap runs'),
  },
];
