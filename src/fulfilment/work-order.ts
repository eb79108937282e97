/** An order as the worker sees it: its own row, its legs, and every transaction of them that is not given up. */
import type { ChainTxPurpose, ChainTxStatus, LegStatus, OrderKind, OrderStatus } from '../orders/order-state.js';
import type { Energy, Sun } from '../money/units.js';

export interface WorkTx {
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

export interface WorkLeg {
  readonly id: bigint;
  readonly legNo: number;
  readonly walletId: number;
  readonly walletAddress: string;
  readonly permissionId: number;
  readonly keyAddress: string;
  readonly amountSun: Sun;
  readonly energy: Energy | undefined;
  readonly status: LegStatus;
  /** Seconds since its status last changed, by the database's clock. */
  readonly ageSec: number;
  /** Oldest first; `dead` and `dropped` ones included. */
  readonly txs: readonly WorkTx[];
}

export interface WorkOrder {
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
  readonly legs: readonly WorkLeg[];
}

/** The purpose of a leg's transaction that brings it into being. */
export function deliveryPurpose(order: WorkOrder): ChainTxPurpose {
  return order.kind === 'activation' ? 'activate' : 'delegate';
}

/** The one transaction of a leg and purpose that is not dead or dropped, if any. */
export function liveTx(leg: WorkLeg, purpose: ChainTxPurpose): WorkTx | undefined {
  return leg.txs.find((tx) => tx.purpose === purpose && tx.status !== 'dead' && tx.status !== 'dropped');
}

export function attemptsOf(leg: WorkLeg, purpose: ChainTxPurpose): number {
  return leg.txs.reduce((most, tx) => (tx.purpose === purpose ? Math.max(most, tx.attempt) : most), 0);
}

/** Attempts that were sent and proven dead; dropped ones never left the house, and of some no node was ever told. */
export function deathsOf(leg: WorkLeg, purpose: ChainTxPurpose): number {
  return leg.txs.filter((tx) => tx.purpose === purpose && tx.status === 'dead' && tx.sends > 0).length;
}
