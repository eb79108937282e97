/**
 * Costs of a transfer from a deposit address: bandwidth, energy, and the TRX burnt for any shortfall. Pure.
 *
 * TRON takes bandwidth from stake, else from the free points, else burns TRX, each time for the whole transaction.
 */
import { energyAfterNextStep, type EnergyNeed } from '../../platform/chain/dynamic-energy.js';
import type { TransferPrices } from '../../platform/chain/transfer-prices.js';
import { divCeil } from '../../domain/units.js';

/** The means of an address to pay for a transaction. */
export interface AddressFunds {
  readonly isOnChain: boolean;
  readonly trxSun: bigint;
  readonly energy: bigint;
  readonly freeNet: bigint;
  readonly stakedNet: bigint;
}

/** Returns the bandwidth of a transaction. TRON: the bytes of raw_data and of one signature, plus 64 for the result. */
export function bandwidthOf(rawDataHex: string): bigint {
  const bytes = rawDataHex.length / 2;
  const lengthBytes = bytes < 128 ? 1 : bytes < 16_384 ? 2 : 3;
  return BigInt(1 + lengthBytes + bytes + SIGNATURE_BYTES + RESULT_BYTES);
}

const SIGNATURE_BYTES = 2 + 65;
const RESULT_BYTES = 64;

/** Returns the means of an address that is activated before its first transfer. */
export function newAddressFunds(prices: TransferPrices): AddressFunds {
  return { isOnChain: false, trxSun: 0n, energy: 0n, freeNet: prices.freeNetLimit, stakedNet: 0n };
}

interface BandwidthCost {
  readonly bandwidthSun: bigint;
  readonly creationSun: bigint;
  readonly after: AddressFunds;
}

function payBandwidth(
  funds: AddressFunds,
  bandwidth: bigint,
  createsAccount: boolean,
  prices: TransferPrices,
): BandwidthCost {
  const paid = { bandwidthSun: 0n, creationSun: createsAccount ? prices.systemContractFeeSun : 0n };
  if (bandwidth <= funds.stakedNet) return { ...paid, after: { ...funds, stakedNet: funds.stakedNet - bandwidth } };
  // TRON: free bandwidth never pays for creating an account.
  if (createsAccount) return { ...paid, bandwidthSun: prices.createAccountFeeSun, after: funds };
  if (bandwidth <= funds.freeNet) return { ...paid, after: { ...funds, freeNet: funds.freeNet - bandwidth } };
  return { ...paid, bandwidthSun: bandwidth * prices.transactionFeeSunPerByte, after: funds };
}

/** Minimum of the fee limit, in percent of the simulated energy: the receiver may have sent its tokens away by then. */
const LIMIT_MARGIN = 110n;

/** Returns the fee limit in sun. TRON: the limit caps rented energy too, not only burnt TRX. */
export function feeLimitOf(need: EnergyNeed, prices: TransferPrices): bigint {
  const withMargin = divCeil(need.energy * LIMIT_MARGIN, 100n);
  const nextStep = energyAfterNextStep(need, prices);
  return (withMargin > nextStep ? withMargin : nextStep) * prices.energyFeeSun;
}

/** The cost of a token transfer with its sender's means: energy to rent, or TRX to burn instead. */
export interface TokenCost {
  /** Burnt for bandwidth. */
  readonly bandwidthSun: bigint;
  /** The missing energy, including one more maintenance period. */
  readonly rentEnergy: bigint;
  /** Burnt where no energy is rented; undefined when the sender has too little TRX for it. */
  readonly energySun: bigint | undefined;
  /** TRX that the sender lacks for bandwidth. */
  readonly missingSun: bigint;
  readonly after: AddressFunds;
}

/** Returns the cost of a token transfer. `isRented`: the missing energy will be there when the transfer is sent. */
export function payTokenTransfer(
  funds: AddressFunds,
  { bandwidth, need, isRented }: { readonly bandwidth: bigint; readonly need: EnergyNeed; readonly isRented: boolean },
  prices: TransferPrices,
): TokenCost {
  const { bandwidthSun, after } = payBandwidth(funds, bandwidth, false, prices);
  const isMissing = need.energy > funds.energy;
  const rentEnergy = isMissing ? energyAfterNextStep(need, prices) - funds.energy : 0n;
  const [left, mostSun] = [funds.trxSun - bandwidthSun, rentEnergy * prices.energyFeeSun];
  const canBurn = left >= mostSun;
  const burntSun = canBurn && !isRented ? mostSun : 0n;
  return {
    bandwidthSun,
    rentEnergy,
    energySun: canBurn ? (isMissing ? (need.energy - funds.energy) * prices.energyFeeSun : 0n) : undefined,
    missingSun: left < 0n ? -left : 0n,
    after: {
      ...after,
      trxSun: left < burntSun ? 0n : left - burntSun,
      energy: isMissing ? 0n : funds.energy - need.energy,
    },
  };
}

/** The cost of a TRX transfer with its sender's means, without the amount. */
export interface TrxCost {
  /** Burnt for bandwidth. */
  readonly bandwidthSun: bigint;
  /** Burnt additionally to create the receiver's account. */
  readonly creationSun: bigint;
  readonly after: AddressFunds;
}

/** Returns the cost of a TRX transfer and the means after it. The amount is not deducted yet. */
export function payTrxTransfer(
  funds: AddressFunds,
  { bandwidth, createsAccount }: { readonly bandwidth: bigint; readonly createsAccount: boolean },
  prices: TransferPrices,
): TrxCost {
  const { bandwidthSun, creationSun, after } = payBandwidth(funds, bandwidth, createsAccount, prices);
  return { bandwidthSun, creationSun, after: { ...after, trxSun: funds.trxSun - bandwidthSun - creationSun } };
}
