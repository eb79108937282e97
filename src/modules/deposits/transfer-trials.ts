/** Simulates transfers from deposit addresses: current cost, or why a transfer would fail. Sends nothing. */
import { Injectable } from '@nestjs/common';
import { addressToHex } from '../../platform/chain/address.js';
import type { CallOutcome } from '../../platform/chain/contract-call.js';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { NotRunError, TokenReads } from '../../platform/chain/token-reads.js';
import { transferCall } from '../../platform/chain/transfer-call.js';
import { readTransferPrices, type TransferPrices } from '../../platform/chain/transfer-prices.js';
import { accountOf, resourcesOf, TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { firstWord, TRANSFER_EVENT, type EventLog } from '../../domain/sizing.js';
import type { EnergyNeed } from '../../platform/chain/dynamic-energy.js';
import { newAddressFunds, type AddressFunds } from './transfer-costs.js';

export const FAILURES = {
  paused: 'The token is paused, so its transfers fail.',
  sender_blacklisted: 'The token has blacklisted this deposit address, so it cannot send.',
  receiver_blacklisted: 'The token has blacklisted the recipient, which could not send the tokens on.',
  deprecated: 'The token is deprecated: its successor records the transfer, and this service does not read it.',
  balance: 'The address holds less of the token in the newest block: another transfer may be pending.',
  reverted: 'The transfer reverts.',
  moves_nothing: 'The call succeeds, but no tokens arrive.',
  not_simulated: 'No node simulated the transfer. Plan it again.',
} as const;

export type FailureCause = keyof typeof FAILURES;

export interface WorkingTrial extends EnergyNeed {
  readonly works: true;
  readonly arrives: bigint;
  /** The part of the sent amount that the token keeps. */
  readonly tokenFee: bigint;
}

export type TokenTrial = WorkingTrial | { readonly works: false; readonly cause: FailureCause };

/** The state of a receiver before anything is sent to it. */
export interface Receiver {
  readonly address: string;
  readonly isOnChain: boolean;
  readonly isContract: boolean;
  readonly holdsToken: boolean;
}

@Injectable()
export class TransferTrials {
  private readonly reads: TokenReads;

  constructor(
    private readonly client: TronClient,
    private readonly config: Config,
  ) {
    this.reads = new TokenReads(client, config.chain.tokenContract);
  }

  /** Throws ChainUnavailableError. */
  async readPrices(): Promise<TransferPrices> {
    return readTransferPrices(this.client, this.config.market.parameterBounds);
  }

  /** Returns the means of an address at the head. Throws ChainUnavailableError. */
  async readFunds(address: string, prices: TransferPrices): Promise<AddressFunds> {
    return this.client.pool.ask('what a deposit address can pay with', async (node) => {
      const account = await accountOf(node, address);
      if (account === undefined) return newAddressFunds(prices);
      const resources = await resourcesOf(node, address);
      const left = (limit: bigint, used: bigint): bigint => (limit > used ? limit - used : 0n);
      return {
        isOnChain: true,
        trxSun: account.balanceSun,
        energy: left(resources.energyLimit, resources.energyUsed),
        freeNet: left(resources.freeNetLimit, resources.freeNetUsed),
        stakedNet: left(resources.netLimit, resources.netUsed),
      };
    });
  }

  /** Throws ChainUnavailableError. */
  async readReceiver(address: string): Promise<Receiver> {
    const [account, balance] = await Promise.all([
      this.client.account(address),
      asUnavailable(async () => this.reads.balanceOf(address)),
    ]);
    const isContract = account?.isContract === true;
    return { address, isOnChain: account !== undefined, isContract, holdsToken: (balance ?? 0n) > 0n };
  }

  /** Simulates exactly this transfer. Throws ChainUnavailableError. */
  async tryTokenTransfer(from: string, to: string, amount: bigint): Promise<TokenTrial> {
    const outcome = await this.client.simulate(transferCall(this.reads.token, from, to, amount));
    if (outcome.kind !== 'success') return { works: false, cause: await this.causeOf(outcome, from, amount) };
    const sent = outcome.logs.flatMap((log) => sentBy(log, from) ?? []);
    const arrives = sumOf(sent.filter((each) => each.to === wordOf(to)));
    if (arrives === 0n) return { works: false, cause: 'moves_nothing' };
    const tokenFee = sumOf(sent.filter((each) => each.to !== wordOf(to)));
    return { works: true, energy: outcome.energyUsed, penalty: outcome.energyPenalty, arrives, tokenFee };
  }

  /**
   * Returns why no token transfer to this receiver can work, regardless of a simulation. Throws ChainUnavailableError.
   */
  async obstacleTo(to: string): Promise<FailureCause | undefined> {
    return asUnavailable(async () => {
      if ((await this.reads.isPaused()) === true) return 'paused';
      if ((await this.reads.isDeprecated()) === true) return 'deprecated';
      return (await this.reads.isBlacklisted(to)) === true ? 'receiver_blacklisted' : undefined;
    });
  }

  private async causeOf(outcome: CallOutcome, from: string, amount: bigint): Promise<FailureCause> {
    if (outcome.kind === 'refused') return 'not_simulated';
    return asUnavailable(async () => {
      if ((await this.reads.isBlacklisted(from)) === true) return 'sender_blacklisted';
      const held = await this.reads.balanceOf(from);
      return held !== undefined && held < amount ? 'balance' : 'reverted';
    });
  }
}

/** Treats a node that did not run the call as unavailable: to a plan it is the same. */
async function asUnavailable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NotRunError) throw new ChainUnavailableError('a call of the token', [error]);
    throw error;
  }
}

interface Sent {
  readonly to: string;
  readonly amount: bigint;
}

const ADDRESS_DIGITS = 40;
const wordOf = (address: string): string => addressToHex(address).slice(2);

/** Accepts Transfer events of any contract. */
function sentBy({ topics: [event, from = '', to = ''], data }: EventLog, sender: string): Sent | undefined {
  if (event !== TRANSFER_EVENT || from.slice(-ADDRESS_DIGITS) !== wordOf(sender)) return undefined;
  return { to: to.slice(-ADDRESS_DIGITS), amount: firstWord(data) ?? 0n };
}

function sumOf(sent: readonly Sent[]): bigint {
  return sent.reduce((sum, { amount }) => sum + amount, 0n);
}
