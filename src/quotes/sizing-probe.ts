/**
 * Measures what a transfer of the reference token costs right now, by simulating one from an address that holds it, so
 * that the token's dynamic energy is in every size (docs/interface.md §7). Nothing is signed or sent.
 */
import { randomBytes } from 'node:crypto';
import { addressFromBytes, addressToHex, isAddress } from '../chain/address.js';
import type { CallOutcome } from '../chain/contract-call.js';
import type { TronClient } from '../chain/tron.client.js';
import type { Energy } from '../domain/units.js';
import {
  BALANCE_OF,
  TRANSFER,
  addressWord,
  firstWord,
  showsTransfer,
  uintWord,
  type SizingFigures,
} from '../domain/sizing.js';

export interface MeasuredSizing extends SizingFigures {
  /** Whose transfer was simulated; asked first the next time. */
  readonly holder: string;
}

/** TRON: twenty zero bytes. Tokens sent there are lost, so it holds some of every widely used one. */
const ZERO_ADDRESS = addressFromBytes(Buffer.concat([Buffer.of(0x41), Buffer.alloc(20)]));
/** Enough for one to send and another to receive, with one in reserve. */
const HOLDERS_WANTED = 3;
const CANDIDATES_MAX = 12;
const LEARNED_MAX = 8;

/** A node gave up on a call, which says nothing of the token or its holders. */
class NotMeasuredError extends Error {
  override readonly name = 'NotMeasuredError';
}

/** Throws NotMeasuredError for an answer that is a node's own trouble. */
function judged(outcome: CallOutcome): CallOutcome {
  if (outcome.kind === 'refused' && outcome.refusal !== 'no-contract') {
    throw new NotMeasuredError(`the node did not run the call: ${outcome.message.slice(0, 200)}`);
  }
  return outcome;
}

export class SizingProbe {
  /** Receivers that were seen to hold the token, the latest last. */
  private readonly learned = new Set<string>();
  private hasNews = false;

  constructor(
    private readonly chain: TronClient,
    private readonly token: string,
    private readonly configured: string | undefined,
  ) {}

  /** Remembers an address that holds the token, in case none is known; whether it is news. */
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

  /** Whether a holder was learned since the last measurement: reason to try again if that one failed. */
  get knowsMore(): boolean {
    return this.hasNews;
  }

  /**
   * The two figures, or undefined when no holder is known or the token refuses transfers. `others` are addresses that
   * may hold the token. Throws ChainUnavailableError, and NotMeasuredError when nodes gave up on the calls.
   */
  async measure(others: readonly string[]): Promise<MeasuredSizing | undefined> {
    this.hasNews = false;
    const holders = await this.holdersAmong([
      ...(this.configured === undefined ? [] : [this.configured]),
      ...others,
      ...[...this.learned].reverse(),
      // A token's own address holds what was sent there by mistake.
      this.token,
      ZERO_ADDRESS,
    ]);
    let trouble: NotMeasuredError | undefined;
    for (const holder of holders) {
      try {
        const figures = await this.measureFrom(
          holder,
          holders.find((other) => other !== holder),
        );
        if (figures !== undefined) return { ...figures, holder };
      } catch (error) {
        if (!(error instanceof NotMeasuredError)) throw error;
        trouble = error;
      }
    }
    if (trouble !== undefined) throw trouble;
    return undefined;
  }

  private async holdersAmong(candidates: readonly string[]): Promise<string[]> {
    const holders: string[] = [];
    for (const address of [...new Set(candidates)].filter(isAddress).slice(0, CANDIDATES_MAX)) {
      const balance = await balanceOf(this.chain, this.token, address);
      if (balance !== undefined && balance > 0n) holders.push(address);
      if (holders.length >= HOLDERS_WANTED) break;
    }
    return holders;
  }

  /** With no other holder known the transfer goes to its own sender, whose slot is as warm as another's. */
  private async measureFrom(holder: string, other: string = holder): Promise<SizingFigures | undefined> {
    const unused = addressFromBytes(Buffer.concat([Buffer.of(0x41), randomBytes(20)]));
    const warm = await this.energyOfTransfer(holder, other);
    const cold = await this.energyOfTransfer(holder, unused);
    if (warm === undefined || cold === undefined) return undefined;
    return { warmEnergy: warm, coldEnergy: cold > warm ? cold : warm };
  }

  private async energyOfTransfer(from: string, to: string): Promise<Energy | undefined> {
    const toHex = addressToHex(to);
    const outcome = judged(
      await this.chain.simulate({
        ownerAddress: from,
        contractAddress: this.token,
        functionSelector: TRANSFER,
        parameter: addressWord(toHex) + uintWord(1n),
      }),
    );
    if (outcome.kind !== 'success' || outcome.energyUsed <= 0n) return undefined;
    return showsTransfer(outcome.logs, addressToHex(from), toHex) ? outcome.energyUsed : undefined;
  }
}

/**
 * The balance of `token` at `address`; undefined when the contract gives none. Throws ChainUnavailableError, and
 * NotMeasuredError when a node gave up on the call.
 */
export async function balanceOf(chain: TronClient, token: string, address: string): Promise<bigint | undefined> {
  const outcome = judged(
    await chain.simulate({
      ownerAddress: address,
      contractAddress: token,
      functionSelector: BALANCE_OF,
      parameter: addressWord(addressToHex(address)),
    }),
  );
  return outcome.kind === 'success' ? firstWord(outcome.result) : undefined;
}
