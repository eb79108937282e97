/**
 * Bandwidth as capacity, counted in transactions of the size of a delegation. Staked bandwidth and the TRX that a
 * wallet may burn both pay for transactions. Pure; integer arithmetic only.
 */
import { divCeil, type Sun } from '../../domain/units.js';

/**
 * TRON: the most bytes of bandwidth that a delegation (284) or its reclaim (286) with one signature takes, under a
 * permission of its own and at any amount that fits a JSON integer. At 1 000 TRX they take 281 and 283.
 */
export const TRANSACTION_BYTES = 286n;
/** The bytes that the price floor charges for each. */
const FLOOR_BYTES = 282n;

/** A delegation and its reclaim. */
export const TRANSACTIONS_PER_LEG = 2n;

const BPS = 10_000n;

/**
 * Returns the cost of a leg's two transactions when TRX is burnt for them, times `bps` / 10 000, rounded up. 0 means no
 * floor.
 */
export function priceFloor(feeSunPerByte: bigint, bps: number): Sun {
  return divCeil(TRANSACTIONS_PER_LEG * FLOOR_BYTES * feeSunPerByte * BigInt(bps), BPS) as Sun;
}

/** A wallet's means to pay for transactions, as a node returns them. */
export interface BandwidthReading {
  readonly netLimit: bigint;
  readonly netUsed: bigint;
  readonly balanceSun: bigint;
}

/** Legs of a wallet that still need transactions. */
export interface OpenLegs {
  /** Neither of the two transactions is in a block up to the head of the reading. */
  readonly unsent: bigint;
  /** Delegated, to be reclaimed within a day. */
  readonly endingSoon: bigint;
  /** Delegated, to be reclaimed after bandwidth that is used today has recovered. */
  readonly endingLater: bigint;
}

/**
 * Returns how many transactions a wallet could send now, from staked bandwidth and from TRX above the reserve. The free
 * bandwidth of an account is not counted; it is a spare.
 */
export function transactionsPaidFor(reading: BandwidthReading, feeSunPerByte: bigint, reserveSun: bigint): bigint {
  const staked = atLeastZero(reading.netLimit - reading.netUsed) / TRANSACTION_BYTES;
  return staked + atLeastZero(reading.balanceSun - reserveSun) / (TRANSACTION_BYTES * feeSunPerByte);
}

/**
 * Returns how many of `paidFor` no open leg needs. Legs that end later may claim at most one day's staked bandwidth.
 */
export function freeTransactions(paidFor: bigint, netLimit: bigint, legs: OpenLegs): bigint {
  const later = atLeastZero(legs.endingLater - netLimit / TRANSACTION_BYTES);
  return atLeastZero(paidFor - TRANSACTIONS_PER_LEG * legs.unsent - legs.endingSoon - later);
}

/** Splits transactions over `count` slots, in pairs as far as possible, because a leg takes two from one slot. */
export function transactionShares(free: bigint, count: number): bigint[] {
  const pairs = free / TRANSACTIONS_PER_LEG;
  const [each, over] = [pairs / BigInt(count), pairs % BigInt(count)];
  return Array.from({ length: count }, (_, index) => {
    const share = (BigInt(index) < over ? each + 1n : each) * TRANSACTIONS_PER_LEG;
    return index === 0 ? share + (free % TRANSACTIONS_PER_LEG) : share;
  });
}

function atLeastZero(value: bigint): bigint {
  return value > 0n ? value : 0n;
}
