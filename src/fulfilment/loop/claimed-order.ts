/** An order as the worker sees it: its own row, its legs, their live transactions, and counts of the others. */
import type {
  ChainTxPurpose,
  ChainTxStatus,
  LegStatus,
  OrderKind,
  OrderStatus,
  TopUpCause,
} from '../../domain/order-state.js';
import type { Energy, Sun } from '../../domain/units.js';

export interface ClaimedTx {
  readonly id: bigint;
  readonly legId: bigint;
  readonly purpose: ChainTxPurpose;
  readonly attempt: number;
  readonly status: ChainTxStatus;
  readonly txid: string;
  readonly rawData: Buffer;
  readonly signature: Buffer | undefined;
  readonly refBlockNumber: number;
  readonly expiresAtMs: number;
  readonly blockNumber: number | undefined;
  readonly blockId: string | undefined;
  readonly sends: number;
  /** Seconds since it was recorded, by the database's clock. */
  readonly ageSec: number;
}

/** What is left of a leg's transactions of one purpose that are dead or dropped. */
export interface Tally {
  readonly purpose: ChainTxPurpose;
  /** The highest attempt. */
  readonly attempts: number;
  /** Attempts that were sent and proven dead. */
  readonly deaths: number;
  /**
   * Attempts since the leg's status last changed, or since the operator asked for another one; those that were not
   * signed only while the wallet does not sign.
   */
  readonly recent: number;
  /** Seconds since the last attempt was recorded, by the database's clock. */
  readonly lastAgeSec: number;
}

export interface ClaimedLeg {
  readonly id: bigint;
  readonly legNo: number;
  readonly walletId: number;
  readonly walletAddress: string;
  readonly permissionId: number;
  readonly keyAddress: string;
  /** Whether a delivery sent from its wallet now could succeed; not of what an operator or the reconciler holds. */
  readonly canDeliver: boolean;
  /** Signatures of its wallet that failed since the last one that did not. */
  readonly signFailures: number;
  /** Added while the rental ran; not of what was sold and delivered. */
  readonly isTopUp: boolean;
  /** Why it was added; undefined of any other, and of top-ups of versions that did not record it. */
  readonly topUpCause: TopUpCause | undefined;
  readonly amountSun: Sun;
  readonly energy: Energy | undefined;
  readonly status: LegStatus;
  /** Ended by a foreign act, maybe before the rental's end. */
  readonly isClosed: boolean;
  /** Seconds since its status last changed, by the database's clock. */
  readonly ageSec: number;
  /** Oldest first, at most one of each purpose: those that are neither dead nor dropped. */
  readonly txs: readonly ClaimedTx[];
  readonly tallies: readonly Tally[];
}

/** A reclaim in a block, with what its receiver had of energy when its transaction was built. */
export interface ReclaimReading {
  readonly txId: bigint;
  /** The block that the node had as it was asked. */
  readonly readBlock: number;
  readonly used: bigint;
  /** Of all stake that gives the receiver energy: its own, ours and others'. */
  readonly limit: bigint;
  /** The part of `limit` that comes from our delegations. */
  readonly pool: bigint;
  /** Of the energy that the ended order sold, the part of this delegation. */
  readonly sold: bigint;
  /** The energy of the undelegated stake. */
  readonly taken: bigint;
  readonly block: number;
  readonly blockAtMs: number;
}

/** A rental that runs at a receiver. */
export interface RunningRental {
  readonly id: bigint;
  readonly energy: bigint;
  readonly endsAtMs: number;
  /** Delegated for it, or about to be. */
  readonly standingSun: Sun;
  /** Settled, with top-ups left, and no delegation of it ended by a foreign act. */
  readonly canBeToppedUp: boolean;
}

/** What lessens or makes up the usable energy of a receiver. */
export interface ReceiverUsage {
  /** Of the last days, in the order of their blocks. */
  readonly reclaims: readonly ReclaimReading[];
  readonly rentals: readonly RunningRental[];
  /** The newest top-up of the receiver: another worker made any later one. */
  readonly newestTopUp: bigint | undefined;
}

export interface ClaimedOrder {
  readonly id: bigint;
  readonly projectId: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly receiver: string;
  readonly energy: Energy | undefined;
  readonly credits: bigint;
  readonly isSettled: boolean;
  readonly isUndoing: boolean;
  readonly needsAttention: boolean;
  readonly endsAtMs: number | undefined;
  /** Seconds since the order was taken, by the database's clock. */
  readonly ageSec: number;
  /** The claim under which this was read: a write with another fence changes nothing. */
  readonly fence: number;
  readonly requestId: string | undefined;
  readonly legs: readonly ClaimedLeg[];
  /** Of a running rental whose receiver had reclaims beside it lately. */
  readonly usage: ReceiverUsage | undefined;
}

/** The purpose of a leg's transaction that brings it into being. */
export function deliveryPurpose(order: ClaimedOrder): ChainTxPurpose {
  return order.kind === 'activation' ? 'activate' : 'delegate';
}

/** The one transaction of a leg and purpose that is not dead or dropped, if any. */
export function liveTx(leg: ClaimedLeg, purpose: ChainTxPurpose): ClaimedTx | undefined {
  return leg.txs.find((tx) => tx.purpose === purpose && tx.status !== 'dead' && tx.status !== 'dropped');
}

export function tallyOf(leg: ClaimedLeg, purpose: ChainTxPurpose): Tally | undefined {
  return leg.tallies.find((tally) => tally.purpose === purpose);
}

export function attemptsOf(leg: ClaimedLeg, purpose: ChainTxPurpose): number {
  const most = tallyOf(leg, purpose)?.attempts ?? 0;
  return leg.txs.reduce((sum, tx) => (tx.purpose === purpose ? Math.max(sum, tx.attempt) : sum), most);
}

/** Attempts that were sent and proven dead; dropped ones were never sent, and some reached no node. */
export function deathsOf(leg: ClaimedLeg, purpose: ChainTxPurpose): number {
  return tallyOf(leg, purpose)?.deaths ?? 0;
}
