/** The facts that causes are derived from: a transaction's receipt, and the rentals of the address around its block. Pure. */
import type { Execution, TransactionReport } from '../../platform/chain/transaction-report.js';

/** A transaction whose receipt is known. */
export type ExecutedReport = TransactionReport & { readonly execution: Execution };

/** A transaction's place in the chain. */
export interface Place {
  readonly blockNumber: number;
  readonly txid: string;
}

/** One delegation of an order, by the records of its transactions. */
export interface DelegationRecord {
  readonly energy: bigint;
  /** The delegation's place; undefined while it is in no block. */
  readonly begun: Place | undefined;
  /** A block that existed before the delegation was sent; undefined while nothing is built. */
  readonly afterBlock: number | undefined;
  /** The reclaim's place. */
  readonly ended: Place | undefined;
  /** The chain's time of a foreign act that ended it. */
  readonly endedAtMs: number | undefined;
}

export interface RentalRecord {
  readonly key: string;
  readonly delegations: readonly DelegationRecord[];
}

type Phase = 'later' | 'running' | 'ended' | 'unknown';

/** A rental as it was when the transaction ran: its energy by phase, and the blocks nearest to the transaction. */
export interface Rental {
  readonly key: string;
  readonly running: bigint;
  /** Energy that arrived after the transaction, or has not arrived. */
  readonly later: bigint;
  readonly ended: bigint;
  /** The first block with energy that arrived later; undefined if it is in no block. */
  readonly arrivedBlock: number | undefined;
  /** The last block that took energy back before the transaction. */
  readonly endedBlock: number | undefined;
  /** True if the records don't prove on which side of the transaction a delegation began or ended. */
  readonly isUnknown: boolean;
}

/** A transaction that used energy of the same address before. */
export interface EarlierUse {
  readonly txid: string;
  readonly energy: bigint;
}

/** Energy of the same transfer without the surcharge, measured now: to a holder of the token, and to another address. */
export interface TransferFigures {
  readonly recipient: string;
  readonly toHolder: bigint;
  readonly toOther: bigint;
  /** The highest surcharge of a contract, in 1/10 000. */
  readonly dynamicMax: bigint;
}

/** The surcharge that the contract had at the delivery, by a call in a block there. */
export interface EarlierSurcharge {
  readonly blockNumber: number;
  readonly energy: bigint;
  readonly penalty: bigint;
}

export interface Facts {
  readonly report: ExecutedReport;
  /** The address of the project that takes part in the transaction. */
  readonly receiver: string;
  /** The chain's price of one energy when the transaction ran, in sun; undefined if unknown. */
  readonly priceSun: bigint | undefined;
  /** Rentals of the sender around the transaction. */
  readonly rentals: readonly Rental[];
  readonly earlierUse?: EarlierUse | undefined;
  readonly transfer?: TransferFigures | undefined;
  readonly surcharge?: EarlierSurcharge | undefined;
}

/** Place and time of the transaction. `block`: the ids of its block in their order, read only if they matter. */
export interface Moment extends Place {
  readonly timestampMs: number;
  readonly block?: readonly string[] | undefined;
}

/** Undefined if both are in one block whose order is unknown. */
function isBefore(one: Place, { blockNumber, txid, block = [] }: Moment): boolean | undefined {
  if (one.blockNumber !== blockNumber) return one.blockNumber < blockNumber;
  const [first, second] = [block.indexOf(one.txid), block.indexOf(txid)];
  return first < 0 || second < 0 ? undefined : first < second;
}

/** Compares places in the chain, and times of the chain's clock; never a time of the database. */
function phaseOf(delegation: DelegationRecord, at: Moment): Phase {
  const { begun, afterBlock, ended, endedAtMs } = delegation;
  if (begun === undefined) return afterBlock === undefined || afterBlock >= at.blockNumber ? 'later' : 'unknown';
  const hasBegun = isBefore(begun, at);
  if (hasBegun !== true) return hasBegun === false ? 'later' : 'unknown';
  if (ended !== undefined) {
    const hasEnded = isBefore(ended, at);
    return hasEnded === undefined ? 'unknown' : hasEnded ? 'ended' : 'running';
  }
  if (endedAtMs === undefined || endedAtMs > at.timestampMs) return 'running';
  return endedAtMs < at.timestampMs ? 'ended' : 'unknown';
}

/** Returns the rental as it was when the transaction ran. */
export function rentalAt({ key, delegations }: RentalRecord, at: Moment): Rental {
  const phases = delegations.map((delegation) => ({ delegation, phase: phaseOf(delegation, at) }));
  const sum = (wanted: Phase): bigint =>
    phases.reduce((total, { delegation, phase }) => (phase === wanted ? total + delegation.energy : total), 0n);
  const blocks = (wanted: Phase, place: 'begun' | 'ended'): number[] =>
    phases.flatMap(({ delegation, phase }) =>
      phase === wanted && delegation[place] !== undefined ? [delegation[place].blockNumber] : [],
    );
  const [arrivedBlock] = blocks('later', 'begun').sort((one, other) => one - other);
  const endedBlock = blocks('ended', 'ended').sort((one, other) => other - one)[0];
  return {
    key,
    running: sum('running'),
    later: sum('later'),
    ended: sum('ended'),
    arrivedBlock,
    endedBlock,
    isUnknown: phases.some(({ phase }) => phase === 'unknown'),
  };
}

/** True if the order of transactions within the block decides about a rental. */
export function needsPositions(rentals: readonly RentalRecord[], blockNumber: number): boolean {
  return rentals.some(({ delegations }) =>
    delegations.some(({ begun, ended }) => begun?.blockNumber === blockNumber || ended?.blockNumber === blockNumber),
  );
}

/** The energy of a call compared with the rentals that were running. */
export interface Shortage {
  /** The part of the energy that the caller paid for, without the deployer's. */
  readonly needed: bigint;
  /** Rented energy that was delegated to the sender. */
  readonly rented: bigint;
  /** True if energy was burnt, or if the call stopped for want of energy and TRX. */
  readonly isShort: boolean;
  /** True if the call needed more than was rented. */
  readonly isTooSmall: boolean;
  /** True if less was left than was rented, so that earlier transactions had used energy. */
  readonly isUsedUp: boolean;
}

/** The energy of a delegation may fall by this part between two top-ups, in percent: the network's stake grows. */
const DRIFT_PERCENT = 5n;

/** Returns the most energy that the fee limit allows; undefined if the price is unknown, or for other transactions. */
export function feeLimitEnergy({ report, priceSun }: Pick<Facts, 'report' | 'priceSun'>): bigint | undefined {
  const isVm = report.kind === 'call' || report.kind === 'deployment';
  return isVm && priceSun !== undefined && priceSun > 0n ? report.feeLimitSun / priceSun : undefined;
}

/**
 * True if the fee limit stopped the call. TRON: OUT_OF_ENERGY reports the whole limit of the call as used, the lower of
 * the fee limit's energy and the energy that wallet and TRX give. The deployer's part would blur this.
 */
export function isStoppedByFeeLimit(facts: Pick<Facts, 'report' | 'priceSun'>): boolean {
  const { result, energy, deployerEnergy } = facts.report.execution;
  const most = feeLimitEnergy(facts);
  return result === 'OUT_OF_ENERGY' && deployerEnergy === 0n && most !== undefined && energy >= most;
}

/** True if the call stopped because energy and TRX of the sender were used up. */
export function isStoppedByBalance(facts: Pick<Facts, 'report' | 'priceSun'>): boolean {
  const { result, energy, deployerEnergy } = facts.report.execution;
  const most = feeLimitEnergy(facts);
  return result === 'OUT_OF_ENERGY' && deployerEnergy === 0n && most !== undefined && energy < most;
}

export function shortageOf(facts: Pick<Facts, 'report' | 'priceSun' | 'rentals'>): Shortage {
  const { energy, deployerEnergy, stakedEnergy, energyBurnSun } = facts.report.execution;
  const needed = energy - deployerEnergy;
  const rented = facts.rentals.reduce((sum, { running }) => sum + running, 0n);
  const isStopped = isStoppedByBalance(facts);
  const isShort = energyBurnSun > 0n || isStopped;
  const isUsedUp = isShort && rented > 0n && stakedEnergy * 100n < rented * (100n - DRIFT_PERCENT);
  // A call that was stopped needed more than it used: more than the whole rental, if that was there.
  const isTooSmall = isShort && rented > 0n && (needed > rented || (isStopped && !isUsedUp));
  return { needed, rented, isShort, isTooSmall, isUsedUp };
}
