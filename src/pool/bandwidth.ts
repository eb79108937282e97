/**
 * Bandwidth as capacity, counted in transactions of the size of a delegation: what a wallet's staked bandwidth and the
 * TRX that it may burn still pay for. Pure; integer arithmetic only.
 */
import { divCeil, type Sun } from '../domain/units.js';

/** TRON: a delegation or its reclaim with one signature takes at most so many bytes of bandwidth. */
export const TRANSACTION_BYTES = 282n;

/** A delegation and its reclaim. */
export const TRANSACTIONS_PER_LEG = 2n;

const BPS = 10_000n;

/** What a leg's two transactions cost when TRX are burnt for them, times `bps` / 10 000; 0 = no floor. */
export function priceFloor(feeSunPerByte: bigint, bps: number): Sun {
  return divCeil(TRANSACTIONS_PER_LEG * TRANSACTION_BYTES * feeSunPerByte * BigInt(bps), BPS) as Sun;
}

/** What a wallet can pay transactions with, as a node returns it. */
export interface BandwidthReading {
  readonly netLimit: bigint;
  readonly netUsed: bigint;
  readonly balanceSun: bigint;
}

/** Legs of a wallet that will still need transactions. */
export interface OpenLegs {
  /** Neither of the two transactions is in a block that the reading knows. */
  readonly unsent: bigint;
  /** Delegated, to be reclaimed within a day. */
  readonly endingSoon: bigint;
  /** Delegated, to be reclaimed later, when bandwidth that is used today is there again. */
  readonly endingLater: bigint;
}

/**
 * How many transactions a wallet could send now: by staked bandwidth, and by TRX above the reserve. The free bandwidth
 * of an account is left out, as a spare.
 */
export function transactionsPaidFor(reading: BandwidthReading, feeSunPerByte: bigint, reserveSun: bigint): bigint {
  const staked = atLeastZero(reading.netLimit - reading.netUsed) / TRANSACTION_BYTES;
  return staked + atLeastZero(reading.balanceSun - reserveSun) / (TRANSACTION_BYTES * feeSunPerByte);
}

/** How many of `paidFor` are not spoken for by open legs. What ends later may use a day's staked bandwidth, no more. */
export function freeTransactions(paidFor: bigint, netLimit: bigint, legs: OpenLegs): bigint {
  const later = atLeastZero(legs.endingLater - netLimit / TRANSACTION_BYTES);
  return atLeastZero(paidFor - TRANSACTIONS_PER_LEG * legs.unsent - legs.endingSoon - later);
}

/** The parts of `count` slots, in pairs as far as it goes, since a leg takes two from one slot. */
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
