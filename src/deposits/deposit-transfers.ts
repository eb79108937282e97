/**
 * Unsigned transfers from deposit addresses, each with what it takes and what must be done before it. Signed on the machine
 * that has the account's private key, which is never this one.
 */
import { Injectable } from '@nestjs/common';
import { buildTransfer, type TransferTerms, type UnsignedTransfer } from '../chain/transfer-transaction.js';
import type { TransferPrices } from '../chain/transfer-prices.js';
import { solidHeadOf, TronClient } from '../chain/tron.client.js';
import { Config } from '../config/config.js';
import type { DepositAsset } from '../domain/deposit-state.js';
import type { DepositPlace } from './holdings.js';
import {
  bandwidthOf,
  feeLimitOf,
  payTokenTransfer,
  payTrxTransfer,
  type EnergyNeed,
  type Purse,
} from './transfer-costs.js';
import type { Receiver, WorkingTrial } from './transfer-trials.js';

/** What goes where. */
export interface TransferOrder {
  readonly to: string;
  readonly asset: DepositAsset;
  readonly amount: bigint;
}

export interface BuiltTransfer extends UnsignedTransfer, TransferOrder {
  /** The key that signs it. */
  readonly path: string;
  readonly from: string;
  readonly expiresAt: Date;
}

export interface PlannedTransfer extends BuiltTransfer {
  /** What the receiver gets: less than the amount where the token keeps a fee. */
  readonly arrives: bigint;
  readonly tokenFee: bigint;
  /** Whether the sender's account must be created before it can send anything. */
  readonly needsActivation: boolean;
  /** Whether it creates the receiver's account. */
  readonly createsReceiver: boolean;
  /** By the simulation of this transfer. */
  readonly energy: bigint;
  /** To rent for the sender before it is sent: what is missing, with the next step of the dynamic factor. */
  readonly rentEnergy: bigint;
  readonly feeLimitSun: bigint | null;
  readonly bandwidth: bigint;
  /** TRX that the sender burns for it by the plan. */
  readonly burnsSun: bigint;
  /** TRX to send to the sender before. */
  readonly missingSun: bigint;
  /** Whether later transactions of the plan count on it being in a block. */
  readonly mustConfirm: boolean;
}

/** A transfer with what its sender can pay with after it. */
export interface PlannedStep {
  readonly transfer: PlannedTransfer;
  readonly after: Purse;
}

/** What a transfer is planned with. */
export interface StepTerms {
  readonly receiver: Receiver;
  readonly prices: TransferPrices;
  readonly terms: TransferTerms;
}

/** TRON: at most a day. */
const VALID_MS = 23 * 3_600_000;
/** Of a transfer that nobody simulated. */
const FEE_LIMIT_SUN = 30_000_000n;

@Injectable()
export class DepositTransfers {
  constructor(
    private readonly client: TronClient,
    private readonly config: Config,
  ) {}

  /** Terms that hold for the next 23 hours. Throws ChainUnavailableError. */
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

  /** A token transfer that was simulated, and takes `need`. */
  tokenStep(
    place: DepositPlace,
    purse: Purse,
    { trial, need, amount, isRented }: TokenStep,
    { receiver, prices, terms }: StepTerms,
  ): PlannedStep {
    const feeLimitSun = feeLimitOf(need, prices);
    const built = this.build(place, { to: receiver.address, asset: 'USDT', amount }, terms, feeLimitSun);
    const bandwidth = bandwidthOf(built.rawDataHex);
    const cost = payTokenTransfer(purse, { bandwidth, need, isRented }, prices);
    const transfer = {
      ...built,
      arrives: trial.arrives,
      tokenFee: trial.tokenFee,
      needsActivation: !purse.isOnChain,
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

  /** A transfer of TRX; `amount` by what the sender has left beside what the transfer costs. */
  trxStep(
    place: DepositPlace,
    purse: Purse,
    amountOf: (leftSun: bigint) => bigint,
    { receiver, prices, terms }: StepTerms,
  ): PlannedStep | undefined {
    const order = (amount: bigint): TransferOrder => ({ to: receiver.address, asset: 'TRX', amount });
    const createsAccount = !receiver.isOnChain;
    // The bytes of the amount are at most those of all TRX of the address, or of what is asked for.
    const most = [purse.trxSun, amountOf(purse.trxSun), 1n].reduce((one, other) => (one > other ? one : other));
    const bandwidth = bandwidthOf(this.build(place, order(most), terms).rawDataHex);
    const cost = payTrxTransfer(purse, { bandwidth, createsAccount }, prices);
    const amount = amountOf(cost.after.trxSun);
    if (amount <= 0n) return undefined;
    const leftSun = cost.after.trxSun - amount;
    const transfer = {
      ...this.build(place, order(amount), terms),
      arrives: amount,
      tokenFee: 0n,
      needsActivation: !purse.isOnChain,
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
  /** Of the simulation, or less where a transfer before it leaves the receiver with tokens. */
  readonly need: EnergyNeed;
  readonly amount: bigint;
  /** Whether what is missing of its energy is rented before it is sent. */
  readonly isRented: boolean;
}
