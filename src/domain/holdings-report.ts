import type { DepositAsset } from './deposit-state.js';

/** A balance on chain that differs from the records. */
export interface Unexplained {
  readonly address: string;
  readonly projectId: string;
  readonly asset: DepositAsset;
  readonly onChain: bigint;
  readonly recorded: bigint;
}

/** Result of an audit of deposit addresses. */
export interface HoldingsReport {
  readonly addresses: number;
  readonly unexplained: readonly Unexplained[];
}
