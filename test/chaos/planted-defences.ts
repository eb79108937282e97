// Planted bugs that remove a defence: against outsiders on the chain, faulty nodes, exchanges, wallets that cannot
// deliver, foreign acts, or foreign locks. The test that motivated each defence must fail without it.
import { FOLLOWER, one, SENDER, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const inTest =
  (file: string) =>
  (title: string): NamedTest => ({ file, title });
const integration = (name: string): ((title: string) => NamedTest) => inTest(`integration/${name}.test.ts`);
const long = (name: string): ((title: string) => NamedTest) => inTest(`long/${name}.test.ts`);

const AGAINST_FOREIGN: readonly PlantedBug[] = [
  {
    name: 'digits inside a text are taken for a number',
    changes: one(
      'platform/chain/json.ts',
      'LONG_DIGITS.test(text) ? exactJson(text) : plainJson(text)',
      `plainJson(text.replaceAll(/([:,[])(-?\\d{16,})(?=[,}\\]])/g, '$1"$2"'))`,
    ),
    test: inTest('unit/chain-json.test.ts')('reads a block with a contract that is named like a long number'),
  },
  {
    name: 'long integers are rounded',
    changes: one(
      'platform/chain/json.ts',
      'LONG_DIGITS.test(text) ? exactJson(text) : plainJson(text)',
      'plainJson(text)',
    ),
    test: inTest('unit/chain-json.test.ts')('keeps every int64 exact and every text unchanged'),
  },
  {
    name: 'heads come with all their transactions',
    changes: one('platform/chain/node-blocks.ts', `'getblock', { ...which, detail: false }`, `'getnowblock', {}`),
    test: integration('node-blocks')('requests heads without their transactions'),
  },
  {
    name: 'a block is read by everyone who wants it',
    changes: one('platform/chain/node-blocks.ts', 'this.coming.set(key, coming);', ''),
    test: integration('node-blocks')('reads a block once, for all users and both ports'),
  },
  {
    name: 'an act is the wallet owner’s whoever signed it',
    changes: one(
      'modules/verify/unrecorded-acts.ts',
      `return meet(signers, await permitted) ? 'owner' : undefined;`,
      `return (await permitted).size > 0 ? 'owner' : undefined;`,
    ),
    test: long('lying-node')(
      'an act that names our wallet, and is signed by a key other than its own, belongs to nobody',
    ),
  },
];

const AGAINST_NODES: readonly PlantedBug[] = [
  {
    name: 'a fee that a node leaves out is zero',
    changes: [
      {
        file: 'platform/chain/chain-parameters.ts',
        find: 'entry === undefined || more.length > 0 ? undefined : int64',
        put: 'entry === undefined ? 0n : int64',
      },
      {
        file: 'platform/chain/chain-parameters.ts',
        find: 'value === undefined || !isWithin(value, bounds[name])',
        put: 'value === undefined',
      },
    ],
    test: long('market')('sells nothing'),
  },
  {
    name: 'one of two nodes names the fees',
    changes: one(
      'platform/chain/chain-parameters.ts',
      'first === undefined || first.count === second?.count',
      'first === undefined',
    ),
    test: long('market')('price nothing'),
  },
  {
    name: 'one operator’s key goes to all',
    changes: one('platform/chain/configured-nodes.ts', 'apiKey: chain.apiKeys[index],', 'apiKey: chain.apiKeys[0],'),
    test: integration('nodes')('each goes to its own node'),
  },
  {
    name: 'a node that failed lately gets no broadcast',
    changes: one(
      'platform/chain/node-pool.ts',
      '        ...byHeight(current.filter((node) => !node.isHealthy)),\n',
      '',
    ),
    test: long('fulfilment-nodes')('goes to every node, even to those that just failed'),
  },
  {
    name: 'a sending that reached nobody counts',
    changes: one(
      SENDER,
      'await this.transactionLog.recordBroadcasts(records, { unheard });',
      'await this.transactionLog.recordBroadcasts(records, {});',
    ),
    test: long('fulfilment-nodes')('that reaches no node is recorded, counts as none, and uses up no attempt'),
  },
  {
    name: 'a call that ran out of time is not run again',
    changes: one(
      'platform/chain/tron.client.ts',
      `if (outcome.kind !== 'refused' || outcome.refusal !== 'timeout') return outcome;`,
      'if (outcome.kind.length > 0) return outcome;',
    ),
    test: long('quotes-nodes')('that runs out of time once is run again'),
  },
  {
    name: 'a node without history proves a death',
    changes: one(
      'modules/fulfilment/send/proof.ts',
      'const keepsHistory = await this.history.keeps(node);',
      'const keepsHistory = this.history.lackingMs(node) >= 0;',
    ),
    test: long('witnesses')('that a node without history reports waits as for a node that is away'),
  },
  {
    name: 'the later clock of two ends rentals',
    changes: one('platform/chain/agreement.ts', 'times.sort((a, b) => b - a);', 'times.sort((a, b) => a - b);'),
    test: long('witnesses')('is not brought forward by a node that is far ahead of the other one'),
  },
  {
    name: 'a silent witness is waited for without end',
    changes: one(
      'platform/chain/agreement.ts',
      'return node.awayMs > this.awayMaxMs;',
      'return node.awayMs > this.awayMaxMs * 1e9;',
    ),
    test: long('witnesses')(
      'waits for a limited time for a silent witness, then is decided by the other one, and the evidence shows it',
    ),
  },
  {
    name: 'a witness whose solid head stands still is waited for without end',
    changes: one(
      'platform/chain/agreement.ts',
      'this.solidStalledMs(node) > this.awayMaxMs',
      'this.solidStalledMs(node) > this.awayMaxMs * 1e9',
    ),
    test: long('stalled-witnesses')('delays a death until the wait for it is over, and the evidence shows it'),
  },
  {
    name: 'a solid head far ahead makes the other one stand still',
    changes: one('platform/chain/node-pool.ts', 'isFar && (await hasBlock(node, reached))', 'isFar'),
    test: long('stalled-witnesses')(
      'is waited for only by the blocks that it has itself: one that claims others outvotes nobody',
    ),
  },
  {
    name: 'one of two nodes decides what is final',
    changes: one(
      'modules/fulfilment/follow/settlement.ts',
      'const first = agreeing.slice(0, ANSWERS_NEEDED);',
      'const first = agreeing.slice(0, 1);',
    ),
    test: long('lying-node')('a final block in which only one of two nodes shows our transaction settles nothing'),
  },
  {
    name: 'a starting follower reads back to what was included alone',
    changes: one(
      FOLLOWER,
      `(SELECT min(ref_block_number) + 1 FROM open_chain_tx WHERE status = 'sending' AND ref_block_number > $1)`,
      `NULL::bigint`,
    ),
    test: long('witnesses')(
      'a worker that starts reads the blocks in which something sent before may stand, though no index names it',
    ),
  },
];

const OF_MONEY: readonly PlantedBug[] = [
  {
    name: 'two exchanges of four are enough',
    changes: [
      {
        file: 'modules/billing/rate-sources.ts',
        find: 'Math.floor(configured / 2) + 1',
        put: 'Math.min(2, configured)',
      },
      {
        file: 'modules/billing/rates.ts',
        find: 'const doubt = doubtOf(rate, last, fallback);',
        put: 'const doubt: string | undefined = undefined;',
      },
    ],
    test: long('rates')('is not what two exchanges report together while the two others are away'),
  },
  {
    name: 'a rate may jump',
    changes: one(
      'modules/billing/held-rates.ts',
      'const MOVE_PERCENT_MAX = 20n;',
      'const MOVE_PERCENT_MAX = 2_000_000n;',
    ),
    test: long('rates')('is held back when it moved further, in every process, and charges go on at the last:'),
  },
  {
    name: 'a rate out of the band is charged at once',
    changes: one(
      'modules/billing/held-rates.ts',
      'if (isInBand(rate, fallback)) return undefined;',
      'return undefined;',
    ),
    test: long('rates')('is held back when it is the first, but outside the band:'),
  },
  {
    name: 'small rentals cost less than their transactions burn',
    changes: one(
      'modules/pool/bandwidth.ts',
      'return divCeil(TRANSACTIONS_PER_LEG *',
      'return 0n as Sun;\n  return divCeil(TRANSACTIONS_PER_LEG *',
    ),
    test: integration('quotes')(
      'a small amount costs the burn of its two transactions plus a tenth, and less than that is not sold',
    ),
  },
  {
    name: 'no bandwidth is kept for the reclaim',
    changes: one(SCHEMA, `WHEN 'activation' THEN 0 ELSE 2 END;`, `WHEN 'activation' THEN 0 ELSE 0 END;`),
    test: integration('capacity')(
      'skips a wallet without bandwidth for a delegation and its reclaim, whatever its stake',
    ),
  },
  {
    name: 'each refusal costs a connection',
    changes: one(
      'platform/database/database.ts',
      'const HARMLESS = /^(ER|P0|22|23|40|55|57014|53100)/;',
      'const HARMLESS = /^(22|23|40|55|57014|53100)/;',
    ),
    test: integration('orders-terms')('refused orders close no connection to the database and leave nothing behind'),
  },
  {
    name: 'wallets that no worker has read are sold from',
    changes: one(
      SCHEMA,
      `WHERE role = v_role AND status = 'active' AND sells_until > v_now ORDER BY`,
      `WHERE role = v_role AND status = 'active' ORDER BY`,
    ),
    test: integration('bandwidth')(
      'a wallet without a successful reading for a minute is no candidate, however often it was tried',
    ),
  },
  {
    name: 'a charge counts on the day before it had the lock',
    changes: one(SCHEMA, 'IF v_charged_on > v_counted_on THEN', 'IF false THEN'),
    test: integration('capacity')('is the day on which the charge got the balance’s lock, not the day before its wait'),
  },
];

const OF_KEYS_AND_OTHERS: readonly PlantedBug[] = [
  {
    name: 'an expiration years ahead is signed',
    changes: one('modules/signer/policy.ts', 'if (late !== undefined) throw', 'if (late === null) throw'),
    test: integration('signer-limits')(
      'in the chain’s own time is allowed if the signer is configured for it, at a bounded pace',
    ),
  },
  {
    name: 'a refused signature pauses nothing',
    changes: one(
      SENDER,
      'for (const [walletId, message] of byWallet) await this.walletHealth.recordRefusal(walletId, message);',
      '',
    ),
    test: long('wallet-delivery')(
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
    test: long('wallet-delivery')('is paused with its reason, and the other wallet delivers every open order'),
  },
  {
    name: 'a reclaim takes what another order holds',
    changes: one(
      'modules/fulfilment/plan/reclaim-guard.ts',
      `isCovered ? 'covered' : 'short'`,
      `sun >= 0n ? 'covered' : 'short'`,
    ),
    test: long('foreign-acts')('after the reclaim was signed, but before it was sent, stops the sending'),
  },
  {
    name: 'a reclaim that fails is tried without rest',
    changes: one(
      'modules/fulfilment/plan/reclaim-pace.ts',
      'return Math.max(0, restSec - failed.lastAgeSec) * 1000;',
      'return restSec * 0;',
    ),
    test: long('foreign-acts')('that cannot be signed is retried ever more rarely, and shown to people'),
  },
  {
    name: 'what the network’s growth takes is not made up for',
    changes: one(
      'modules/fulfilment/loop/order-claims.ts',
      'AND sun_per_energy_e6 < $3',
      'AND sun_per_energy_e6 < $3 AND false',
    ),
    test: long('running-rentals')(
      'a rental that the network’s growth halves is topped up to what was sold, and all of it is reclaimed at its end',
    ),
  },
  {
    name: 'a rental is topped up while a top-up is on its way',
    changes: one(
      'modules/fulfilment/plan/running-rentals.ts',
      `if (short === undefined || standingLegs(order).some((leg) => leg.status !== 'active')) return undefined;`,
      'if (short === undefined) return undefined;',
    ),
    test: long('running-rentals')('while a top-up is on its way no other one is made, however far the network grows'),
  },
  {
    name: 'one held order holds up the inclusion of all',
    changes: one(
      'modules/fulfilment/follow/inclusion.ts',
      `AND t.status = 'sending'\n    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l SKIP LOCKED`,
      `AND t.status = 'sending'\n    ORDER BY o.id, t.id FOR NO KEY UPDATE OF o, t, l`,
    ),
    test: long('fulfilment-nodes')(
      'skips a transaction whose rows another session holds for the others of its block, and counts it once they are free',
    ),
  },
  {
    name: 'what another session held is forgotten',
    changes: one(FOLLOWER, 'this.pendingInclusions.set(block, applied?.left ?? txids, ratio);', ''),
    test: long('fulfilment-nodes')(
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
    test: long('explained')(
      'an explanation covers the explained amount and less, and neither more nor the opposite sign',
    ),
  },
  {
    name: 'what was dropped or is dead counts as known on chain',
    changes: one('modules/verify/unrecorded-acts.ts', `'built', 'signed', 'dropped', 'dead'`, `'built', 'signed'`),
    test: long('reconciler')('dropped bytes that are in a block are an unrecorded act, and reclaimed'),
  },
  {
    name: 'orders are claimed on a server whose past is not known',
    changes: one(
      'modules/fulfilment/recovery-condition.ts',
      'SELECT coalesce(server_mark = server_mark(), true) AND search_until IS NULL FROM reconcile_state',
      'SELECT true FROM reconcile_state',
    ),
    test: long('reconciler')('fulfils nothing on another server, or from restored data, before the chain is searched'),
  },
  {
    name: 'a lost act is given to an order that has bytes of its own',
    changes: one(
      'modules/reconciliation/backup-recovery.ts',
      `EXISTS (SELECT FROM open_chain_tx t WHERE t.leg_id = l.id AND t.purpose = $4
                    AND t.status IN ('built', 'signed')), (o.ends_at`,
      '(o.ends_at',
    ),
    test: long('backup-recovery')(
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
    test: long('backup-recovery')(
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
    test: long('witnesses')('is made once the node that gave other transactions of its block gives the right ones'),
  },
  {
    name: 'one node is believed of what a block does not hold',
    changes: one('modules/reconciliation/searched-blocks.ts', 'await this.compare(node, known, others);', ''),
    test: long('lying-node')(
      'one node alone leaving out an act of our wallets hides nothing: the block is searched again',
    ),
  },
  {
    name: 'a block that was passed unsearched is forgotten',
    changes: one('modules/reconciliation/unrecorded-search.ts', 'ORDER BY number`;', 'WHERE false`;'),
    test: long('unrecorded-acts')('an act in a block that was skipped is found later, also by another worker'),
  },
  {
    name: 'the reconciler rests for what it waited for nodes',
    changes: one(
      'modules/reconciliation/reconciler.ts',
      'restSec(this.config.worker.reconcileSec, report.recordsMs / 1000)',
      'restSec(this.config.worker.reconcileSec, report.tookMs / 1000)',
    ),
    test: long('reconciler-pace')(
      'a pass that waited for slow nodes is followed by the next one without an extra rest',
    ),
  },
];

export const PLANTED_DEFENCES: readonly PlantedBug[] = [
  ...AGAINST_FOREIGN,
  ...AGAINST_NODES,
  ...OF_MONEY,
  ...OF_KEYS_AND_OTHERS,
];
