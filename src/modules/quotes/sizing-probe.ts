/**
 * Measures the energy of a transfer of the reference token by simulating one from a holder. Every size includes the
 * token's dynamic energy and the most that the next maintenance period can add (docs/interface.md §7). Signs and sends
 * nothing.
 */
import { isAddress } from '../../domain/base58-address.js';
import { addressFromBytes, unusedAddress } from '../../platform/chain/address.js';
import { sharingOf, type ContractSharing } from '../../platform/chain/energy-sharing.js';
import {
  energyAfterNextStep,
  readContractDynamics,
  type ContractDynamics,
  type EnergyNeed,
} from '../../platform/chain/dynamic-energy.js';
import { ChainUnavailableError, NodeError } from '../../platform/chain/errors.js';
import { NotRunError, TokenReads, assertRun } from '../../platform/chain/token-reads.js';
import { simulateTransfer } from '../../platform/chain/transfer-call.js';
import type { TronClient } from '../../platform/chain/tron.client.js';
import { NO_SHARING, callerPart } from '../../domain/energy-share.js';
import { energy } from '../../domain/units.js';
import type { SizingFigures } from '../../domain/sizing.js';
import type { SizingObstacle } from './sizing-obstacles.js';

export interface MeasuredSizing extends SizingFigures {
  /** The sender of the simulated transfer; tried first at the next measurement. */
  readonly holder: string;
}

/** Figures, or the obstacle to measuring them. */
export type Measurement = MeasuredSizing | SizingObstacle;

/** Holders to find: senders are tried in turn, and another holder is the recipient. */
const HOLDERS_WANTED = 4;
const CANDIDATES_MAX = 20;
const LEARNED_MAX = 8;
/** Large enough to incur a fee at any token that charges a proportional one, even if its rate cannot be read. */
const USUAL_AMOUNT = 1_000_000n;
/** TRON: twenty zero bytes. Many tokens refuse this address as sender and as recipient. */
const ZERO_ADDRESS = addressFromBytes(Buffer.concat([Buffer.of(0x41), Buffer.alloc(20)]));

interface Holder {
  readonly address: string;
  readonly balance: bigint;
}

/** Result of a simulated transfer: its energy, or the reason for having none. */
type Transfer = EnergyNeed | 'refused' | 'no-event';

interface TransferNeeds {
  readonly warm: EnergyNeed;
  readonly cold: EnergyNeed;
}

export class SizingProbe {
  /** Receivers that were seen to hold the token, the latest last. */
  private readonly learned = new Set<string>();
  private hasNews = false;
  private readonly reads: TokenReads;

  /** `configured`: addresses from the operator's settings. */
  constructor(
    private readonly client: TronClient,
    private readonly token: string,
    private readonly configured: readonly string[],
  ) {
    this.reads = new TokenReads(client, token);
  }

  /** Remembers an address that holds the token. Returns true if it was unknown. */
  learn(holder: string): boolean {
    if (this.learned.has(holder)) return false;
    this.learned.add(holder);
    this.hasNews = true;
    if (this.learned.size > LEARNED_MAX) {
      for (const oldest of this.learned) {
        this.learned.delete(oldest);
        break;
      }
    }
    return true;
  }

  /** True if a holder was learned since the last measurement: a reason to retry if that one failed. */
  get knowsMore(): boolean {
    return this.hasNews;
  }

  /**
   * Returns the most energy that a caller needs for a warm and a cold transfer until the next maintenance period ends,
   * or the obstacle. `others` are addresses that may hold the token. Throws ChainUnavailableError, and NotRunError if
   * nodes gave up on the calls.
   */
  async measure(others: readonly string[]): Promise<Measurement> {
    this.hasNews = false;
    const sharing = await this.sharing();
    const dynamics = await readContractDynamics(this.client, this.token);
    const least = await this.reads.leastAmountWithFee();
    const candidates = this.candidates(others);
    const holders = await this.holdersAmong(candidates, least);
    const senders = holders.filter(({ balance }) => balance >= least);
    const failures: ('refused' | 'no-event')[] = [];
    let trouble: NotRunError | undefined;
    for (const sender of senders) {
      try {
        const needs = await this.measureFrom(sender, holders, least);
        if (typeof needs === 'string') failures.push(needs);
        else return { ...shared(figuresOf(needs, dynamics), sharing), holder: sender.address };
      } catch (error) {
        if (!(error instanceof NotRunError)) throw error;
        trouble = error;
      }
    }
    if (trouble !== undefined) throw trouble;
    return this.obstacle(candidates, senders, failures);
  }

  /** Returns addresses to try, the most likely holders first. */
  private candidates(others: readonly string[]): string[] {
    // A token's own address holds tokens that were sent to it by mistake.
    const all = [...this.configured, ...others, ...[...this.learned].reverse(), this.token];
    return [...new Set(all)]
      .filter((address) => isAddress(address) && address !== ZERO_ADDRESS)
      .slice(0, CANDIDATES_MAX);
  }

  private async holdersAmong(candidates: readonly string[], least: bigint): Promise<Holder[]> {
    const holders: Holder[] = [];
    for (const address of candidates) {
      const balance = await this.reads.balanceOf(address);
      if (balance !== undefined && balance > 0n) holders.push({ address, balance });
      if (holders.filter((holder) => holder.balance >= least).length >= HOLDERS_WANTED) break;
    }
    return holders;
  }

  /** Without another holder the transfer goes to the sender itself, whose storage slot is equally warm. */
  private async measureFrom(
    sender: Holder,
    holders: readonly Holder[],
    least: bigint,
  ): Promise<TransferNeeds | 'refused' | 'no-event'> {
    const other = holders.find(({ address }) => address !== sender.address) ?? sender;
    const amount = amountOf(sender.balance, least);
    const warm = await this.transfer(sender.address, other.address, amount);
    if (typeof warm === 'string') return warm;
    const cold = await this.transfer(sender.address, unusedAddress(), amount);
    if (typeof cold === 'string') return cold;
    return { warm, cold: cold.energy > warm.energy ? cold : warm };
  }

  private async transfer(from: string, to: string, amount: bigint): Promise<Transfer> {
    const { outcome, isProven } = await simulateTransfer(this.client, this.token, { from, to, amount });
    const ran = assertRun(outcome);
    if (ran.kind !== 'success' || ran.energyUsed <= 0n) return 'refused';
    return isProven ? { energy: ran.energyUsed, penalty: ran.energyPenalty } : 'no-event';
  }

  /** Returns the reason why no sender's transfer was measured, as far as the token reveals it. */
  private async obstacle(
    candidates: readonly string[],
    senders: readonly Holder[],
    failures: readonly ('refused' | 'no-event')[],
  ): Promise<SizingObstacle> {
    if (failures.includes('no-event')) return 'no-event';
    if (await this.reads.isPaused()) return 'paused';
    if (senders.length === 0) {
      const [anyone = this.token] = candidates;
      return (await this.reads.balanceOf(anyone)) === undefined ? 'no-token' : 'no-holder';
    }
    for (const { address } of senders) {
      if ((await this.reads.isBlacklisted(address)) !== true) return 'refused';
    }
    return 'blacklisted';
  }

  /**
   * Returns undefined if it cannot be read. Callers then count as paying for all energy, which never sizes too small.
   */
  private async sharing(): Promise<ContractSharing | undefined> {
    try {
      return await sharingOf(this.client, this.token);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return undefined;
    }
  }
}

/** Leaves the sender a remainder if possible, because emptying a balance may cost a different amount of energy. */
function amountOf(balance: bigint, least: bigint): bigint {
  const most = balance - 1n < USUAL_AMOUNT ? balance - 1n : USUAL_AMOUNT;
  return most > least ? most : least;
}

/** Returns the energy of the transfers at the highest factor that the token can have in the next maintenance period. */
function figuresOf({ warm, cold }: TransferNeeds, dynamics: ContractDynamics): SizingFigures {
  const { factor } = dynamics;
  const highest = (need: EnergyNeed) =>
    energy(energyAfterNextStep(factor === undefined ? need : { ...need, factor }, dynamics));
  return { warmEnergy: highest(warm), coldEnergy: highest(cold) };
}

/** Returns the caller's part of the two transfers. */
function shared(figures: SizingFigures, sharing: ContractSharing | undefined): SizingFigures {
  const terms = sharing ?? NO_SHARING;
  return { warmEnergy: callerPart(figures.warmEnergy, terms), coldEnergy: callerPart(figures.coldEnergy, terms) };
}

/** Returns the obstacle behind an error that `measure` threw. */
export function obstacleOf(error: unknown): SizingObstacle {
  const { cause } = error instanceof ChainUnavailableError ? error : { cause: undefined };
  const faults: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  const isOff = faults.length > 0 && faults.every((each) => each instanceof NodeError && each.runsNoConstantCalls);
  return isOff ? 'no-constant-calls' : 'no-node';
}
