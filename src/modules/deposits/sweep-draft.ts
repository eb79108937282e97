/** A sweep plan under construction: each transfer is planned with the means that the earlier ones leave. Pure. */
import type { DepositAsset } from '../../domain/deposit-state.js';
import type { DepositTransfers, PlannedTransfer, StepTerms } from './deposit-transfers.js';
import type { DepositPlace } from './holdings.js';
import type { AddressFunds } from './transfer-costs.js';
import { FAILURES, type FailureCause, type Receiver, type TokenTrial } from './transfer-trials.js';

export interface SweepPlan {
  /** In sending order. */
  readonly transactions: readonly PlannedTransfer[];
  readonly leftOut: readonly LeftOut[];
}

/** A transfer that would fail. */
export interface LeftOut {
  readonly from: string;
  readonly to: string;
  readonly asset: DepositAsset;
  readonly amount: bigint;
  readonly cause: FailureCause | 'no_bandwidth' | 'receiver_is_contract' | 'missing';
  readonly says: string;
}

/** The holdings of an address by solid blocks, without the token amount that stays there. */
export interface SweepCandidate {
  readonly place: DepositPlace;
  readonly funds: AddressFunds;
  readonly trxSun: bigint;
  readonly token: bigint;
  /** Simulation of transferring all of `token`; undefined when the amount is too small. */
  readonly trial: TokenTrial | undefined;
  /** Simulation of the same transfer to an address that already holds the token. */
  readonly warm: TokenTrial | undefined;
}

export interface DraftLimits {
  readonly keepSun: bigint;
  readonly limit: number;
  readonly isRented: boolean;
  readonly minimums: Readonly<Record<DepositAsset, bigint>>;
}

export class SweepDraft {
  private readonly transactions: PlannedTransfer[] = [];
  private readonly leftOut: LeftOut[] = [];
  /** The means of each sender after its token transfer. */
  private readonly fundsOf = new Map<string, AddressFunds>();
  private receiver: Receiver;
  /** A deposit address that holds the token, as the receiver will after the first transfer. */
  holder: string | undefined;

  constructor(
    private readonly transfers: DepositTransfers,
    readonly step: StepTerms,
    private readonly limits: DraftLimits,
  ) {
    this.receiver = step.receiver;
  }

  get isFull(): boolean {
    return this.transactions.length >= this.limits.limit || this.leftOut.length >= this.limits.limit;
  }

  isTokenWorth(token: bigint): boolean {
    return token > 0n && token >= this.limits.minimums.USDT;
  }

  /** True when an address is worth reading. The TRX to keep are deducted later, when its costs are known. */
  isWorth({ trxSun, token }: { readonly trxSun: bigint; readonly token: bigint }): boolean {
    return this.isTokenWorth(token) || trxSun >= this.limits.minimums.TRX;
  }

  /** Adds the token transfer of an address. `obstacle`: why no token transfer to the receiver can work. */
  addToken({ place, funds, token, trial, warm }: SweepCandidate, obstacle: FailureCause | undefined): void {
    if (trial === undefined || this.isFull) return;
    const order = { to: this.receiver.address, asset: 'USDT', amount: token } as const;
    const cause = obstacle ?? (trial.works ? undefined : trial.cause);
    if (cause !== undefined || !trial.works) {
      this.leaveOut(place, order, cause ?? 'reverted', FAILURES[cause ?? 'reverted']);
      return;
    }
    const isEased = this.receiver.holdsToken && warm?.works === true && warm.energy < trial.energy;
    const need = isEased ? warm : trial;
    const planned = this.transfers.tokenStep(
      place,
      funds,
      { trial, need, amount: token, isRented: this.limits.isRented },
      { ...this.step, receiver: this.receiver },
    );
    const { transfer, after } = planned;
    if (transfer.missingSun > 0n) {
      this.leaveOut(place, order, 'no_bandwidth', lacking(transfer, funds));
      return;
    }
    this.transactions.push(transfer);
    this.fundsOf.set(place.address, after);
    this.receiver = { ...this.receiver, holdsToken: true };
  }

  /**
   * Adds the TRX transfer of an address. The TRX burnt by it and by the token transfer before it come out of `keepSun`.
   * If they exceed `keepSun`, the amount shrinks.
   */
  addTrx({ place, funds: before, trxSun }: SweepCandidate): void {
    const { keepSun, minimums } = this.limits;
    if (this.isFull || trxSun < minimums.TRX) return;
    const startSun = trxSun < before.trxSun ? trxSun : before.trxSun;
    const funds = this.fundsOf.get(place.address) ?? before;
    const amountOf = (leftSun: bigint): bigint => {
      const burntSun = before.trxSun - leftSun;
      return startSun - (burntSun > keepSun ? burntSun : keepSun);
    };
    const planned = this.transfers.trxStep(place, funds, amountOf, { ...this.step, receiver: this.receiver });
    if (planned === undefined || planned.transfer.amount < minimums.TRX) return;
    if (this.receiver.isContract) {
      const { to, asset, amount } = planned.transfer;
      this.leaveOut(place, { to, asset, amount }, 'receiver_is_contract', CONTRACT_RECEIVER);
      return;
    }
    this.transactions.push(planned.transfer);
    this.receiver = { ...this.receiver, isOnChain: true };
  }

  /** Reports an address that holds less of the token than its records say. */
  addMissing(place: DepositPlace, missing: bigint): void {
    if (missing < this.limits.minimums.USDT || this.isFull) return;
    this.leaveOut(place, { to: this.receiver.address, asset: 'USDT', amount: missing }, 'missing', MISSING);
  }

  plan(): SweepPlan {
    return { transactions: this.transactions, leftOut: this.leftOut };
  }

  private leaveOut(
    place: DepositPlace,
    order: Pick<LeftOut, 'to' | 'asset' | 'amount'>,
    cause: LeftOut['cause'],
    says: string,
  ): void {
    this.leftOut.push({ from: place.address, ...order, cause, says });
  }
}

const MISSING = 'The address holds less of the token than its recorded deposits. Run `deposits audit`.';

export const CONTRACT_RECEIVER = 'The recipient is a contract, and the chain refuses TRX transfers to contracts.';

function lacking({ bandwidth, missingSun }: PlannedTransfer, { freeNet }: AddressFunds): string {
  return (
    `The transfer takes ${bandwidth.toString()} bandwidth, but only ${freeNet.toString()} is left today. ` +
    `Wait, or send ${missingSun.toString()} sun more to the address from a sweep address.`
  );
}
