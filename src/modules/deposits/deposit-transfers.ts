/**
 * Plans unsigned transfers from deposit addresses, with their costs and the steps needed before each. They are signed
 * on the machine that holds the account's private key, which is never this one.
 */
import { Injectable } from '@nestjs/common';
import type { EnergyNeed } from '../../platform/chain/dynamic-energy.js';
import { buildTransfer, type TransferTerms, type UnsignedTransfer } from '../../platform/chain/transfer-transaction.js';
import type { TransferPrices } from '../../platform/chain/transfer-prices.js';
import { solidHeadOf, TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import type { DepositAsset } from '../../domain/deposit-state.js';
import type { DepositPlace } from './holdings.js';
import { bandwidthOf, feeLimitOf, payTokenTransfer, payTrxTransfer, type AddressFunds } from './transfer-costs.js';
import type { Receiver, WorkingTrial } from './transfer-trials.js';

/** The receiver, asset and amount of a transfer. */
export interface TransferOrder {
  readonly to: string;
  readonly asset: DepositAsset;
  readonly amount: bigint;
}

export interface BuiltTransfer extends UnsignedTransfer, TransferOrder {
  /** BIP-32 path of the signing key. */
  readonly path: string;
  readonly from: string;
  readonly expiresAt: Date;
}

export interface PlannedTransfer extends BuiltTransfer {
  /** The amount that the receiver gets: less than `amount` where the token keeps a fee. */
  readonly arrives: bigint;
  readonly tokenFee: bigint;
  /** True when the sender's account must be created before it can send anything. */
  readonly needsActivation: boolean;
  /** True when the transfer creates the receiver's account. */
  readonly createsReceiver: boolean;
  /** Energy by the simulation of this transfer. */
  readonly energy: bigint;
  /**
   * Energy to rent for the sender before sending: the shortfall, including the next step of the dynamic energy factor.
   */
  readonly rentEnergy: bigint;
  readonly feeLimitSun: bigint | null;
  readonly bandwidth: bigint;
  /** TRX that the sender burns for it, by the plan. */
  readonly burnsSun: bigint;
  /** TRX to send to the sender beforehand. */
  readonly missingSun: bigint;
  /** True when later transactions of the plan assume that this one is in a block. */
  readonly mustConfirm: boolean;
}

/** A transfer and its sender's means after it. */
export interface PlannedStep {
  readonly transfer: PlannedTransfer;
  readonly after: AddressFunds;
}

/** The inputs for planning a transfer. */
export interface StepTerms {
  readonly receiver: Receiver;
  readonly prices: TransferPrices;
  readonly terms: TransferTerms;
}

/** TRON allows at most a day. */
const VALID_MS = 23 * 3_600_000;
/** Fee limit of a transfer that was not simulated. */
const FEE_LIMIT_SUN = 30_000_000n;

@Injectable()
export class DepositTransfers {
  constructor(
    private readonly client: TronClient,
    private readonly config: Config,
  ) {}

  /** Returns terms that are valid for the next 23 hours. Throws ChainUnavailableError. */
  async buildTerms(): Promise<TransferTerms> {
    return this.client.pool.ask('the solid head', async (node) => {
      const [reference, head] = [await solidHeadOf(node), await node.readHead()];
      return { reference, timestampMs: head.timestampMs, expiresAtMs: head.timestampMs + VALID_MS };
    });
  }

  build(
    place: DepositPlace,
    { to, asset, amount }: TransferOrder,
    terms: TransferTerms,
    feeLimitSun = FEE_LIMIT_SUN,
  ): BuiltTransfer {
    const { address, account } = place;
    const token = { contract: this.config.chain.tokenContract, feeLimitSun: Number(feeLimitSun) };
    const built = buildTransfer({ from: address, to, amount, ...(asset === 'USDT' && { token }) }, terms);
    const path = `m/44'/195'/${account.toString()}'/0/${place.place.toString()}`;
    return { ...built, path, from: address, to, asset, amount, expiresAt: new Date(terms.expiresAtMs) };
  }

  /** Plans a simulated token transfer that takes `need`. */
  tokenStep(
    place: DepositPlace,
    funds: AddressFunds,
    { trial, need, amount, isRented }: TokenStep,
    { receiver, prices, terms }: StepTerms,
  ): PlannedStep {
    const feeLimitSun = feeLimitOf(need, prices);
    const built = this.build(place, { to: receiver.address, asset: 'USDT', amount }, terms, feeLimitSun);
    const bandwidth = bandwidthOf(built.rawDataHex);
    const cost = payTokenTransfer(funds, { bandwidth, need, isRented }, prices);
    const transfer = {
      ...built,
      arrives: trial.arrives,
      tokenFee: trial.tokenFee,
      needsActivation: !funds.isOnChain,
      createsReceiver: false,
      energy: need.energy,
      rentEnergy: cost.rentEnergy,
      feeLimitSun,
      bandwidth,
      burnsSun: cost.bandwidthSun + (isRented ? 0n : (cost.energySun ?? 0n)),
      missingSun: cost.missingSun,
      mustConfirm: !receiver.holdsToken,
    };
    return { transfer, after: cost.after };
  }

  /**
   * Plans a transfer of TRX. `amountOf` receives the sender's TRX left after the costs and returns the amount. Returns
   * undefined when the amount is not positive.
   */
  trxStep(
    place: DepositPlace,
    funds: AddressFunds,
    amountOf: (leftSun: bigint) => bigint,
    { receiver, prices, terms }: StepTerms,
  ): PlannedStep | undefined {
    const order = (amount: bigint): TransferOrder => ({ to: receiver.address, asset: 'TRX', amount });
    const createsAccount = !receiver.isOnChain;
    // Computes bandwidth with the longest possible encoding of the amount: all TRX of the address, or the requested
    // amount.
    const most = [funds.trxSun, amountOf(funds.trxSun), 1n].reduce((one, other) => (one > other ? one : other));
    const bandwidth = bandwidthOf(this.build(place, order(most), terms).rawDataHex);
    const cost = payTrxTransfer(funds, { bandwidth, createsAccount }, prices);
    const amount = amountOf(cost.after.trxSun);
    if (amount <= 0n) return undefined;
    const leftSun = cost.after.trxSun - amount;
    const transfer = {
      ...this.build(place, order(amount), terms),
      arrives: amount,
      tokenFee: 0n,
      needsActivation: !funds.isOnChain,
      createsReceiver: createsAccount,
      energy: 0n,
      rentEnergy: 0n,
      feeLimitSun: null,
      bandwidth,
      burnsSun: cost.bandwidthSun + cost.creationSun,
      missingSun: leftSun < 0n ? -leftSun : 0n,
      mustConfirm: createsAccount,
    };
    return { transfer, after: { ...cost.after, trxSun: leftSun } };
  }
}

export interface TokenStep {
  readonly trial: WorkingTrial;
  /** The need of the simulation, or less where an earlier transfer leaves the receiver with tokens. */
  readonly need: EnergyNeed;
  readonly amount: bigint;
  /** True when the missing energy is rented before it is sent. */
  readonly isRented: boolean;
}
