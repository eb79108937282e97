/** Simulates a transfer of the reference token from an address, for operators who examine an order. */
import { Injectable } from '@nestjs/common';
import { withDeadline } from '../../platform/support/clock.js';
import { unusedAddress } from '../../platform/chain/address.js';
import { transferCall } from '../../platform/chain/transfer-call.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { Log } from '../../platform/observability/logger.js';
import { TokenCauses } from '../quotes/token-causes.js';

export interface Outlook {
  /** The price of one energy, in sun; undefined if no node answered in time. */
  readonly energyFeeSun: bigint | undefined;
  /** Reason why a transfer would fail now; undefined if it would succeed, or if no node ran it in time. */
  readonly failure: string | undefined;
}

@Injectable()
export class TransferOutlook {
  constructor(
    private readonly client: TronClient,
    private readonly causes: TokenCauses,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Simulates a transfer of the token's smallest unit to an unused address. Never rejects. */
  async of(sender: string): Promise<Outlook> {
    const [parameters, failure] = await Promise.all([
      this.unlessLate(this.client.chainParameters(this.config.market.parameterBounds)),
      this.unlessLate(this.failureOf(sender)),
    ]);
    return { energyFeeSun: parameters?.energyFeeSun, failure };
  }

  private async failureOf(sender: string): Promise<string | undefined> {
    const call = transferCall(this.config.chain.tokenContract, sender, unusedAddress(), 1n);
    const outcome = await this.client.simulate(call);
    if (outcome.kind === 'success' || outcome.kind === 'refused') return undefined;
    return this.causes.reasonOf(call, outcome);
  }

  private async unlessLate<T>(read: Promise<T>): Promise<T | undefined> {
    try {
      return await withDeadline(read, 2 * this.config.chain.readTimeoutMs, 'reading what a transfer would come to');
    } catch (err) {
      this.log.info({ err }, 'failed to estimate a token transfer');
      return undefined;
    }
  }
}
