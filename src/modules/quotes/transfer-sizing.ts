/** Sizes a rental by the token transfer that it is for, simulated exactly as its sender will send it. */
import { Injectable } from '@nestjs/common';
import { withDeadline } from '../../platform/support/clock.js';
import { TtlCache } from '../../platform/support/ttl-cache.js';
import type { CallOutcome, ContractCall } from '../../platform/chain/contract-call.js';
import {
  energyAfterNextStep,
  readContractDynamics,
  type ContractDynamics,
} from '../../platform/chain/dynamic-energy.js';
import { sharingFor, sharingOf, type ContractSharing } from '../../platform/chain/energy-sharing.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TokenReads } from '../../platform/chain/token-reads.js';
import { simulateTransfer } from '../../platform/chain/transfer-call.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { callerPart } from '../../domain/energy-share.js';
import { ApiError, invalidField } from '../../domain/errors.js';
import { energy, type Energy } from '../../domain/units.js';
import { TokenCauses } from './token-causes.js';

/** The transfer that a rental is for. Its sender is the receiver of the energy. */
export interface TokenTransfer {
  readonly to: string;
  /** In the token's smallest unit. */
  readonly amount: bigint;
  /** Address of the token's contract; the reference token if absent. */
  readonly token: string | undefined;
}

/** The state of a contract that its callers share. */
interface ContractTerms {
  readonly dynamics: ContractDynamics;
  readonly sharing: ContractSharing | undefined;
  /** The smallest amount by which a transfer pays the token's fee; 1 without a fee. */
  readonly leastWithFee: bigint;
}

/** Changes with a maintenance period or by the contract's owner. A burst of quotes for one token reads once. */
const TERMS_LIMITS = { freshMs: 10_000, staleMsMax: 10_000, keysMax: 100 };
/** Short, because a caller that just funded the sender retries immediately. Repetitions of a request read once. */
const OUTCOME_LIMITS = { freshMs: 1000, staleMsMax: 1000, keysMax: 5000 };

@Injectable()
export class TransferSizing {
  private readonly terms = new TtlCache<ContractTerms>(TERMS_LIMITS);
  private readonly outcomes = new TtlCache<Energy | ApiError>(OUTCOME_LIMITS);

  constructor(
    private readonly config: Config,
    private readonly client: TronClient,
    private readonly tokenCauses: TokenCauses,
  ) {}

  /**
   * Returns the energy that `sender` needs for the transfer until the next maintenance period ends. Throws ApiError
   * TRANSFER_WOULD_FAIL with the reason, INVALID_REQUEST if the token is no contract, and CHAIN_UNAVAILABLE.
   */
  async energyOf(sender: string, transfer: TokenTransfer): Promise<Energy> {
    const key = [sender, transfer.to, transfer.amount, transfer.token].join(' ');
    const limitMs = 2 * this.config.chain.readTimeoutMs;
    const outcome = await this.outcomes.get(key, async () => {
      try {
        return await withDeadline(this.measure(sender, transfer), limitMs, 'simulating a transfer');
      } catch (error) {
        if (!(error instanceof ApiError)) throw unavailable(error);
        if (error.code === 'CHAIN_UNAVAILABLE') throw error;
        return error;
      }
    });
    if (outcome instanceof ApiError) throw outcome;
    return outcome;
  }

  private async measure(sender: string, { to, amount: sent, token: named }: TokenTransfer): Promise<Energy> {
    const token = named ?? this.config.chain.tokenContract;
    const terms = await this.termsOf(token);
    const amount = await this.simulatedAmount(sender, sent, token, terms.leastWithFee);
    const { call, outcome, isProven } = await simulateTransfer(this.client, token, { from: sender, to, amount });
    if (outcome.kind !== 'success') throw await this.refusal(call, outcome);
    if (!isProven) throw wouldFail('The token reports no transfer from the sender to transfer_to.');
    const { factor } = terms.dynamics;
    const need = { energy: outcome.energyUsed, penalty: outcome.energyPenalty };
    const most = energyAfterNextStep(factor === undefined ? need : { ...need, factor }, terms.dynamics);
    return callerPart(energy(most), sharingFor(sender, terms.sharing));
  }

  /**
   * A smallest amount may pay no token fee and need less energy than the transfer that follows: with a fee it is
   * simulated by the least amount that pays one, as far as the sender holds it.
   */
  private async simulatedAmount(sender: string, amount: bigint, token: string, leastWithFee: bigint): Promise<bigint> {
    if (amount > 1n || leastWithFee === 1n) return amount;
    const balance = (await new TokenReads(this.client, token).balanceOf(sender)) ?? 0n;
    return balance >= leastWithFee ? leastWithFee : amount;
  }

  private async termsOf(contract: string): Promise<ContractTerms> {
    return this.terms.get(contract, async () => {
      const [dynamics, sharing, leastWithFee = 1n] = await Promise.all([
        readContractDynamics(this.client, contract),
        // Unknown terms count as a caller that pays for everything, which never sizes too small.
        sharingOf(this.client, contract).catch(unlessUnavailable),
        // An address without a contract has no fee; the simulation names that mistake.
        new TokenReads(this.client, contract).leastAmountWithFee().catch(unlessUnavailable),
      ]);
      return { dynamics, sharing, leastWithFee };
    });
  }

  private async refusal(call: ContractCall, outcome: Exclude<CallOutcome, { kind: 'success' }>): Promise<ApiError> {
    if (outcome.kind !== 'refused') return wouldFail(await this.tokenCauses.reasonOf(call, outcome));
    if (outcome.refusal === 'no-contract')
      return invalidField('token', 'must be the address of a contract on this chain');
    return unavailable(new Error(outcome.message.slice(0, 300)));
  }
}

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof ChainUnavailableError)) throw error;
  return undefined;
}

const wouldFail = (reason: string): ApiError =>
  new ApiError('TRANSFER_WOULD_FAIL', `The transfer would fail: ${reason}`);

function unavailable(cause: unknown): ApiError {
  const words = 'No node could simulate the transfer just now; repeat the request, or name its energy instead.';
  return new ApiError('CHAIN_UNAVAILABLE', words, { cause, retryAfterSec: 3 });
}
