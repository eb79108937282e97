/** The worker's crash points, each a hook around a method, a statement or a node request. */
import type { INestApplicationContext } from '@nestjs/common';
import { around, type CrashPoint } from '../../platform/support/crash-point.js';
import { Signer } from '../../platform/chain/keys.js';
import type { PortName } from '../../platform/chain/node-blocks.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Numberer } from '../events/numberer.js';
import { WALLET_FIGURES } from '../pool/pool-sync.js';
import { each, method, statement, type Place, type Side } from '../../platform/database/crash-places.js';
import { SENT_TRANSACTION } from './advance/found-transactions.js';
import { OrderAdvancer } from './advance/order-advancer.js';
import { ChainView } from './follow/chain-view.js';
import { Follower } from './follow/follower.js';
import { Settlement } from './follow/settlement.js';
import { OrderClaims } from './loop/order-claims.js';
import { RECEIVER_USAGE } from './plan/reclaim-readings.js';
import { Proofs } from './send/proof.js';
import { TransactionLog } from './send/transaction-log.js';

/** The worker's crash points; the API has the others. */
export type WorkerPoint = Exclude<CrashPoint, `accept.${string}` | `wake.${string}` | `answer.${string}`>;

const nodes = (app: INestApplicationContext) => app.get(TronClient, { strict: false }).pool.nodes;

/** Hooks the node requests about one subject, on any node. */
const question =
  (side: Side, about: string): Place =>
  (app, pass) => {
    const call = (what: string): void => {
      if (what === about) pass();
    };
    around(app.get(TronClient, { strict: false }).pool, 'ask', { [side]: call });
  };

/** Hooks header reads from the nodes' full port, not from their solid port. */
const header =
  (side: Side): Place =>
  (app, pass) => {
    const call = (port: PortName): void => {
      if (port === 'full') pass();
    };
    for (const node of nodes(app)) around(node.blocks, 'header', { [side]: call });
  };

const isSome = (items: readonly unknown[]): boolean => items.length > 0;

export const WORKER_PLACES: Readonly<Record<WorkerPoint, Place>> = {
  'claim.before': method('before', OrderClaims, 'claimDue'),
  'claim.after': statement('after', 'claim_due'),
  'claim-woken.before': method('before', OrderClaims, 'claimNamed'),
  'claim-woken.after': statement('after', 'claim_ids'),
  'load.after': method('before', OrderAdvancer, 'advance', isSome),
  'claim-ending.before': each(
    method('before', OrderClaims, 'claimEnded'),
    method('before', OrderClaims, 'claimShort'),
    method('before', OrderClaims, 'claimWithLosses'),
  ),
  'claim-ending.after': statement('after', 'claim_ending', 'claim_short', 'claim_short_of_bandwidth', 'claim_lost'),
  'release.before': method('before', OrderClaims, 'release', isSome),
  'release.after': method('after', OrderClaims, 'release', isSome),
  // Only the follower's own head read. Head reads for node health alone have no crash point.
  'head.before': method('before', Follower, 'step'),
  'head.after': method('before', ChainView, 'advanceClock'),
  'reference.before': statement('before', 'any_wallet'),
  'reference.after': method('before', ChainView, 'update'),
  'usage-read.before': question('before', RECEIVER_USAGE),
  'usage-read.after': question('after', RECEIVER_USAGE),
  'build.after': method('before', TransactionLog, 'recordBuilt'),
  'record-built.before': method('before', TransactionLog, 'recordBuilt'),
  'record-built.after': method('after', TransactionLog, 'recordBuilt'),
  'record-usage.before': statement('before', 'record_reclaim_usage'),
  'record-usage.after': statement('after', 'record_reclaim_usage'),
  'sign.before': method('before', Signer, 'sign'),
  'sign.after': method('after', Signer, 'sign'),
  'record-signed.before': method('before', TransactionLog, 'recordSigned'),
  'record-signed.after': method('after', TransactionLog, 'recordSigned'),
  'record-sending.before': method('before', TransactionLog, 'recordSending'),
  'record-sending.after': method('after', TransactionLog, 'recordSending'),
  'broadcast.before': (app, pass) => {
    for (const node of nodes(app)) around(node, 'broadcastHex', { before: pass });
  },
  // Also hooks a broadcast without an answer: the bytes may still have reached the network.
  'broadcast.after': (app, pass) => {
    for (const node of nodes(app)) around(node, 'broadcastHex', { settled: pass });
  },
  'record-broadcast.before': method('before', TransactionLog, 'recordBroadcasts'),
  'record-broadcast.after': method('after', TransactionLog, 'recordBroadcasts'),
  'drop.before': method('before', TransactionLog, 'recordDropped', isSome),
  'drop.after': method('after', TransactionLog, 'recordDropped', isSome),
  'lookup.before': question('before', SENT_TRANSACTION),
  'lookup.after': question('after', SENT_TRANSACTION),
  'block.before': header('before'),
  'block.after': header('after'),
  'record-included.before': statement('before', 'lock_sending'),
  'record-included.after': statement('after', 'lock_sending'),
  'fall-away.before': statement('before', 'mark_reverted'),
  'fall-away.after': statement('after', 'mark_reverted'),
  'solid.before': method('before', Settlement, 'readAgreedBlock'),
  'solid.after': method('after', Settlement, 'readAgreedBlock'),
  'record-solid.before': statement('before', 'mark_solid'),
  'record-solid.after': statement('after', 'mark_solid'),
  'record-cost.before': statement('before', 'record_costs'),
  'record-cost.after': statement('after', 'record_costs'),
  // After a node's solid head is read and before the transaction is looked up; and after that look-up.
  'proof-head.after': method('before', Proofs, 'placeAt'),
  'proof-absence.after': method('after', Proofs, 'placeAt'),
  'record-dead.before': method('before', TransactionLog, 'recordDead'),
  'record-dead.after': method('after', TransactionLog, 'recordDead'),
  'top-up.before': statement('before', 'reserve_further'),
  'top-up.after': statement('after', 'reserve_further'),
  'weigh.before': statement('before', 'weigh_reclaims'),
  'weigh.after': statement('after', 'weigh_reclaims'),
  'give-up.before': statement('before', 'release_legs'),
  'give-up.after': statement('after', 'release_legs'),
  'undo.before': statement('before', 'undo_order'),
  'undo.after': statement('after', 'undo_order'),
  'refund.before': statement('before', 'refund_order'),
  'refund.after': statement('after', 'refund_order'),
  'unresolved.before': statement('before', 'order_unresolved'),
  'unresolved.after': statement('after', 'order_unresolved'),
  'pool-read.before': question('before', WALLET_FIGURES),
  'pool-read.after': question('after', WALLET_FIGURES),
  'pool-write.before': statement('before', 'pool_lock_slots'),
  'pool-write.after': statement('after', 'pool_lock_slots'),
  'number.before': method('before', Numberer, 'numberBatch'),
  'number-events.before': statement('before', 'number_events'),
  'number.after': method('after', Numberer, 'numberBatch'),
};
