// Customers whose wallets send tokens while their rentals overlap and end, so that rented energy is really used.
import { sleep } from '../../../src/platform/support/clock.js';
import type { ChainAccount, Wallet } from '../../../packages/local/src/chain-account.js';
import type { LocalService } from '../../../packages/local/src/local-service.js';

const SPEND_MS = 3000;
/** Pays for a transfer to a holder when nothing is rented. */
const FEE_LIMIT_SUN = 20_000_000;

export class Spenders {
  /** Transfers in a block. */
  private transfers = 0;
  /** Rented energy that they used in total. */
  private rentedEnergy = 0;

  constructor(
    private readonly service: LocalService,
    /** Wallet client that bypasses injected node faults. */
    private readonly directWallet: Wallet,
  ) {}

  get summary(): string {
    return `${this.transfers.toString()} transfers of customers used ${this.rentedEnergy.toString()} rented energy`;
  }

  /** Each rented wallet sends to the next one repeatedly until the signal aborts. */
  async keepSpending(signal: AbortSignal): Promise<void> {
    const { accounts } = this.service;
    await Promise.all(
      accounts.map((account, index) => this.spend(account, accounts[(index + 1) % accounts.length]!, signal)),
    );
  }

  private async spend(from: ChainAccount, to: ChainAccount, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A fork may drop the transaction, or revert its reference block.
      const sent = await this.directWallet
        .transferToken(this.service.token, from, to.address, 1n, FEE_LIMIT_SUN)
        .catch(() => undefined);
      if (sent !== undefined) {
        this.transfers += 1;
        this.rentedEnergy += (sent['receipt'] as { energy_usage?: number } | undefined)?.energy_usage ?? 0;
      }
      await sleep(SPEND_MS, signal);
    }
  }
}
