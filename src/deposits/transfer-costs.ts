/**
 * What a transfer from a deposit address takes: bandwidth, energy, and the TRX that are burnt for what is missing of
 * them. Pure. TRON: bandwidth comes from stake, then from the free points, then from TRX, each for the whole transaction.
 */
import type { TransferPrices } from '../chain/transfer-prices.js';
import { divCeil } from '../domain/units.js';

/** What an address can pay a transaction with. */
export interface Purse {
  readonly isOnChain: boolean;
  readonly trxSun: bigint;
  readonly energy: bigint;
  readonly freeNet: bigint;
  readonly stakedNet: bigint;
}

/** TRON: the bytes of raw_data, of one signature, and 64 for the result. */
export function bandwidthOf(rawDataHex: string): bigint {
  const bytes = rawDataHex.length / 2;
  const lengthBytes = bytes < 128 ? 1 : bytes < 16_384 ? 2 : 3;
  return BigInt(1 + lengthBytes + bytes + SIGNATURE_BYTES + RESULT_BYTES);
}

const SIGNATURE_BYTES = 2 + 65;
const RESULT_BYTES = 64;

/** An address that is activated before its first transfer. */
export function newPurse(prices: TransferPrices): Purse {
  return { isOnChain: false, trxSun: 0n, energy: 0n, freeNet: prices.freeNetLimit, stakedNet: 0n };
}

interface BandwidthCost {
  readonly bandwidthSun: bigint;
  readonly creationSun: bigint;
  readonly after: Purse;
}

function payBandwidth(purse: Purse, bandwidth: bigint, createsAccount: boolean, prices: TransferPrices): BandwidthCost {
  const paid = { bandwidthSun: 0n, creationSun: createsAccount ? prices.systemContractFeeSun : 0n };
  if (bandwidth <= purse.stakedNet) return { ...paid, after: { ...purse, stakedNet: purse.stakedNet - bandwidth } };
  // TRON: an account is never created from free bandwidth.
  if (createsAccount) return { ...paid, bandwidthSun: prices.createAccountFeeSun, after: purse };
  if (bandwidth <= purse.freeNet) return { ...paid, after: { ...purse, freeNet: purse.freeNet - bandwidth } };
  return { ...paid, bandwidthSun: bandwidth * prices.transactionFeeSunPerByte, after: purse };
}

/** What a simulated call takes. */
export interface EnergyNeed {
  readonly energy: bigint;
  /** Of it, the surcharge of a busy contract. */
  readonly penalty: bigint;
}

const ONE = 10_000n;

/** The most that the call takes after one maintenance period more. */
export function energyAfterNextStep({ energy, penalty }: EnergyNeed, prices: TransferPrices): bigint {
  const stepped = divCeil(energy * (ONE + prices.dynamicStep), ONE);
  const highest = divCeil((energy - penalty) * (ONE + prices.dynamicMax), ONE);
  const bound = stepped < highest ? stepped : highest;
  return bound > energy ? bound : energy;
}

/** Over the simulated energy, at least: the receiver may have sent its tokens away by then. In percent. */
const LIMIT_MARGIN = 110n;

/** TRON: the limit caps rented energy too. */
export function feeLimitOf(need: EnergyNeed, prices: TransferPrices): bigint {
  const withMargin = divCeil(need.energy * LIMIT_MARGIN, 100n);
  const nextStep = energyAfterNextStep(need, prices);
  return (withMargin > nextStep ? withMargin : nextStep) * prices.energyFeeSun;
}

/** A token transfer by its sender's means: what is to be rented for it, and what it burns otherwise. */
export interface TokenCost {
  /** Burnt for bandwidth. */
  readonly bandwidthSun: bigint;
  /** What is missing of its energy, after one maintenance period more. */
  readonly rentEnergy: bigint;
  /** Burnt where nothing is rented; undefined when the sender has too little TRX for that. */
  readonly energySun: bigint | undefined;
  /** TRX that the sender lacks for bandwidth. */
  readonly missingSun: bigint;
  readonly after: Purse;
}

/** `isRented`: what is missing of its energy is there by the time it is sent. */
export function payTokenTransfer(
  purse: Purse,
  { bandwidth, need, isRented }: { readonly bandwidth: bigint; readonly need: EnergyNeed; readonly isRented: boolean },
  prices: TransferPrices,
): TokenCost {
  const { bandwidthSun, after } = payBandwidth(purse, bandwidth, false, prices);
  const isMissing = need.energy > purse.energy;
  const rentEnergy = isMissing ? energyAfterNextStep(need, prices) - purse.energy : 0n;
  const [left, mostSun] = [purse.trxSun - bandwidthSun, rentEnergy * prices.energyFeeSun];
  const canBurn = left >= mostSun;
  const burntSun = canBurn && !isRented ? mostSun : 0n;
  return {
    bandwidthSun,
    rentEnergy,
    energySun: canBurn ? (isMissing ? (need.energy - purse.energy) * prices.energyFeeSun : 0n) : undefined,
    missingSun: left < 0n ? -left : 0n,
    after: {
      ...after,
      trxSun: left < burntSun ? 0n : left - burntSun,
      energy: isMissing ? 0n : purse.energy - need.energy,
    },
  };
}

/** A transfer of TRX by its sender's means, beside what it moves. */
export interface TrxCost {
  /** Burnt for bandwidth. */
  readonly bandwidthSun: bigint;
  /** Burnt beside, for the receiver's account. */
  readonly creationSun: bigint;
  readonly after: Purse;
}

/** The cost of a transfer of TRX, before its amount is taken. */
export function payTrxTransfer(
  purse: Purse,
  { bandwidth, createsAccount }: { readonly bandwidth: bigint; readonly createsAccount: boolean },
  prices: TransferPrices,
): TrxCost {
  const { bandwidthSun, creationSun, after } = payBandwidth(purse, bandwidth, createsAccount, prices);
  return { bandwidthSun, creationSun, after: { ...after, trxSun: purse.trxSun - bandwidthSun - creationSun } };
}
