/** A claimed order: its row, its legs, their live transactions, and counts of the others. */
import type {
  ChainTxPurpose,
  ChainTxStatus,
  LegKind,
  LegStatus,
  OrderKind,
  OrderStatus,
  TopUpCause,
} from '../../../domain/order-state.js';
import type { Energy, Sun } from '../../../domain/units.js';

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
  /** Seconds since it was recorded, by the database's clock. Jumps of the clock are left out. */
  readonly ageSec: number;
}

/** Counts of a leg's dead and dropped transactions of one purpose. */
export interface Tally {
  readonly purpose: ChainTxPurpose;
  /** The highest attempt number. */
  readonly attempts: number;
  /** Attempts that were sent and proven dead. */
  readonly deaths: number;
  /**
   * Attempts since the leg's status last changed, or since the operator requested another attempt. Unsigned attempts
   * count only while the wallet fails to sign.
   */
  readonly recent: number;
  /** Seconds since the last attempt was recorded, by the database's clock. */
  readonly lastAgeSec: number;
}

export interface ClaimedLeg {
  readonly id: bigint;
  readonly legNo: number;
  readonly kind: LegKind;
  readonly walletId: number;
  readonly walletAddress: string;
  readonly permissionId: number;
  readonly keyAddress: string;
  /** True if its wallet could deliver now. Holds by an operator or the reconciler are not considered here. */
  readonly canDeliver: boolean;
  /** Failed signatures of its wallet since the last successful one. */
  readonly signFailures: number;
  /** True for a leg that was added while the rental ran. Its energy counts neither as sold nor as delivered. */
  readonly isTopUp: boolean;
  /** The cause of a top-up; undefined for other legs, and for top-ups by versions that did not record it. */
  readonly topUpCause: TopUpCause | undefined;
  readonly amountSun: Sun;
  readonly energy: Energy | undefined;
  /** Units of a delegation of bandwidth. */
  readonly bandwidth: bigint | undefined;
  readonly status: LegStatus;
  /** True if a foreign act ended it, perhaps before the rental's end. */
  readonly isClosed: boolean;
  /** Seconds since its status last changed, by the database's clock. Jumps of the clock are left out. */
  readonly ageSec: number;
  /** Transactions that are neither dead nor dropped, oldest first; at most one of each purpose. */
  readonly txs: readonly ClaimedTx[];
  readonly tallies: readonly Tally[];
}

/** A reclaim in a block, with its receiver's energy at the time its transaction was built. */
export interface ReclaimReading {
  readonly txId: bigint;
  /** The node's block at the time of the read. */
  readonly readBlock: number;
  readonly used: bigint;
  /** From all stake that gives the receiver energy: its own, ours and that of others. */
  readonly limit: bigint;
  /** The part of `limit` that comes from our delegations. */
  readonly pool: bigint;
  /** This delegation's part of the energy that the ended order sold. */
  readonly sold: bigint;
  /** The energy of the undelegated stake. */
  readonly taken: bigint;
  readonly block: number;
  readonly blockAtMs: number;
}

/** A rental that is running for a receiver. */
export interface RunningRental {
  readonly id: bigint;
  readonly energy: bigint;
  readonly endsAtMs: number;
  /** The stake that is delegated for it, or about to be. */
  readonly standingSun: Sun;
  /** True for a settled rental with top-ups left, none of whose delegations was ended by a foreign act. */
  readonly canBeToppedUp: boolean;
}

/** A delegation of ours to a receiver, in a block. */
export interface ReceiverDelivery {
  readonly block: number;
  readonly energy: bigint;
}

/** The reclaims and rentals that decrease or restore a receiver's usable energy. */
export interface ReceiverUsage {
  /** The reclaims of the last days, in block order. */
  readonly reclaims: readonly ReclaimReading[];
  /** The delegations that these reclaims ended, and all that are still there. */
  readonly deliveries: readonly ReceiverDelivery[];
  readonly rentals: readonly RunningRental[];
  /** The receiver's newest top-up. Another worker made any later one. */
  readonly newestTopUp: bigint | undefined;
}

export interface ClaimedOrder {
  readonly id: bigint;
  readonly projectId: string;
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly receiver: string;
  readonly energy: Energy | undefined;
  /** Units of bandwidth sold beside the energy. */
  readonly bandwidth: bigint | undefined;
  readonly credits: bigint;
  readonly isSettled: boolean;
  readonly isUndoing: boolean;
  readonly needsAttention: boolean;
  readonly endsAtMs: number | undefined;
  /** Seconds since acceptance, by the database's clock. */
  readonly ageSec: number;
  /** The fencing token of the claim. A write with another fence changes nothing. */
  readonly fence: number;
  /** The time since which it was due, in the database's text format; null for a rental that the chain's clock ended. */
  readonly dueAt: string | null;
  readonly requestId: string | undefined;
  readonly legs: readonly ClaimedLeg[];
  /** Set for a running rental whose receiver recently had reclaims of other rentals. */
  readonly usage: ReceiverUsage | undefined;
}

/** Returns the purpose of the transaction that delivers a leg. */
export function deliveryPurpose(leg: ClaimedLeg): ChainTxPurpose {
  return leg.kind === 'activation' ? 'activate' : 'delegate';
}

/** Returns the one transaction of a leg and purpose that is neither dead nor dropped, if any. */
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

/**
 * Returns the number of attempts that were sent and proven dead. Dropped ones were never sent, and some sent ones
 * reached no node.
 */
export function deathsOf(leg: ClaimedLeg, purpose: ChainTxPurpose): number {
  return tallyOf(leg, purpose)?.deaths ?? 0;
}
