/**
 * Finds the cause of a failed call of the reference token, if the token gives no reason. Reads the token's state with
 * constant calls, and names a cause only if they prove it.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs, withDeadline } from '../../platform/support/clock.js';
import { addressToHex, unusedAddress } from '../../platform/chain/address.js';
import type { CallOutcome, ContractCall } from '../../platform/chain/contract-call.js';
import { TokenReads, assertRun } from '../../platform/chain/token-reads.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { addressWord, uintWord } from '../../domain/sizing.js';
import { Log } from '../../platform/observability/logger.js';
import { reasonOfFault, reasonOfRevert } from './revert-reason.js';
import { tokenCallOf, type TokenCall } from './token-call.js';

/** Concurrent searches, of up to ten constant calls each. Beyond this limit the neutral reason is given. */
const CONCURRENT_MAX = 4;
const ZERO_HEX = `41${'0'.repeat(40)}`;

type FailedCall = Extract<CallOutcome, { kind: 'reverted' | 'fault' }>;

@Injectable()
export class TokenCauses {
  private readonly reads: TokenReads;
  /** Limit of a whole search: the timeout of one read. After it the neutral reason is given. */
  private readonly limitMs: number;
  private underway = 0;

  constructor(
    config: Config,
    private readonly client: TronClient,
    private readonly log: Log,
  ) {
    this.limitMs = config.chain.readTimeoutMs;
    this.reads = new TokenReads(client, config.chain.tokenContract);
  }

  /**
   * Returns the reason for a failed call: the contract's own, or else the cause that the reference token's state
   * proves. Never rejects.
   */
  async reasonOf(call: ContractCall, outcome: FailedCall): Promise<string> {
    if (outcome.kind === 'fault') return (await this.find(call)) ?? reasonOfFault(outcome.fault);
    return (outcome.data === '' ? await this.find(call) : undefined) ?? reasonOfRevert(outcome.data);
  }

  /**
   * Returns the problem and its remedy; undefined for other contracts and functions, and if nothing is proven. Never
   * rejects.
   */
  private async find(call: ContractCall): Promise<string | undefined> {
    const tokenCall = call.contractAddress === this.reads.token ? tokenCallOf(call) : undefined;
    if (tokenCall === undefined || (call.callValue ?? 0n) > 0n || this.underway >= CONCURRENT_MAX) return undefined;
    this.underway += 1;
    const untilMs = monotonicMs() + this.limitMs;
    const search = new CauseSearch(this.client, this.reads, tokenCall, untilMs).run();
    search.finally(() => (this.underway -= 1)).catch(() => undefined);
    return withDeadline(search, this.limitMs, 'reading why a token call fails').catch((err: unknown) => {
      this.log.info({ err }, 'failed to read the cause of a failing token call');
      return undefined;
    });
  }
}

/** One search: common causes first, the others only if none of them applies. */
class CauseSearch {
  constructor(
    private readonly client: TronClient,
    private readonly reads: TokenReads,
    private readonly call: TokenCall,
    private readonly untilMs: number,
  ) {}

  async run(): Promise<string | undefined> {
    if (this.call.kind === 'approve') return this.checkApproval();
    return (
      (await this.checkSender()) ?? (await this.checkAmount()) ?? (await this.checkRecipient()) ?? this.checkSuccessor()
    );
  }

  /** The token owner's acts that stop every transfer of a sender. */
  private async checkSender(): Promise<string | undefined> {
    const { from } = this.call;
    const [isPaused, isBlacklisted] = await Promise.all([this.reads.isPaused(), this.reads.isBlacklisted(from)]);
    if (isPaused === true) return PAUSED;
    if (isBlacklisted === true) return `${from} is on the token's blacklist. Send from another address.`;
    return undefined;
  }

  private async checkAmount(): Promise<string | undefined> {
    const { from, spender, value } = this.call;
    const [balance, allowance] = await Promise.all([
      this.reads.balanceOf(from),
      spender === undefined ? undefined : this.reads.allowance(from, spender),
    ]);
    if (balance !== undefined && balance < value) {
      const held = `${from} holds ${balance.toString()} of the token's smallest unit, less than the ${value.toString()} to be sent.`;
      return `${held} Send it more of the token, or send less.`;
    }
    if (allowance !== undefined && allowance < value) {
      const allowed = `${from} allows the sender ${allowance.toString()} of the token's smallest unit, less than the ${value.toString()} to be sent.`;
      return `${allowed} Have ${from} approve the sender for at least that much.`;
    }
    return undefined;
  }

  /** The proof is a transfer of zero that fails for this recipient and succeeds for another. */
  private async checkRecipient(): Promise<string | undefined> {
    const { to } = this.call;
    const [isTaken, isOtherTaken] = await Promise.all([
      this.succeeds({ ...this.call, value: 0n }),
      this.succeeds({ ...this.call, value: 0n, to: unusedAddress() }),
    ]);
    if (isTaken || !isOtherTaken) return undefined;
    if (addressToHex(to) === ZERO_HEX) return 'The token refuses the zero address as recipient. Use another recipient.';
    const isBlacklisted = (await this.reads.isBlacklisted(to)) === true;
    const why = isBlacklisted
      ? `The recipient ${to} is on the token's blacklist.`
      : `The token refuses ${to} as recipient.`;
    return `${why} Use another recipient.`;
  }

  private async checkSuccessor(): Promise<string | undefined> {
    const successor = await this.reads.successor();
    if (successor === undefined || (await this.isContract(successor))) return undefined;
    return `The token is deprecated, and its successor ${successor} is not a contract. Ask the token's issuer for the token that replaces it.`;
  }

  /** The proof is an approval of zero that succeeds. */
  private async checkApproval(): Promise<string | undefined> {
    const { from, to, value } = this.call;
    const [canReset, isPaused] = await Promise.all([this.succeeds({ ...this.call, value: 0n }), this.reads.isPaused()]);
    if (!canReset) return isPaused === true ? PAUSED : this.checkSuccessor();
    const allowance = await this.reads.allowance(from, to);
    if (allowance === undefined || allowance === 0n || value === 0n) return undefined;
    return `The spender already has an allowance of ${allowance.toString()}, and the token does not replace one allowance by another. Approve 0 first.`;
  }

  private async succeeds({ kind, from, to, value, spender }: TokenCall): Promise<boolean> {
    this.assertInTime();
    const recipient = addressWord(addressToHex(to)) + uintWord(value);
    const [functionSelector, parameter] =
      kind === 'transferFrom'
        ? ['transferFrom(address,address,uint256)', addressWord(addressToHex(from)) + recipient]
        : [`${kind}(address,uint256)`, recipient];
    const call = { ownerAddress: spender ?? from, contractAddress: this.reads.token, functionSelector, parameter };
    return assertRun(await this.client.simulate(call)).kind === 'success';
  }

  private async isContract(address: string): Promise<boolean> {
    this.assertInTime();
    return (await this.client.account(address))?.isContract === true;
  }

  /** Ends a search after its deadline, because its caller no longer waits. */
  private assertInTime(): void {
    if (monotonicMs() > this.untilMs) throw new Error('the search took too long');
  }
}

const PAUSED = 'The token is paused by its owner. Try again once it is unpaused.';
